// The command line on every Node.js it is for: its own tests, and those of the built executable, under the newest release
// of each major. After `npm run build`.
import { fetchNode, run } from '../bin/releases.js'

const majors = [20, 22, 24, 26].filter(major => major !== Number.parseInt(process.versions.node, 10))

/** Tests of what Node.js itself does: sockets, files, streams, processes. The majors between the oldest and the newest run these alone. */
const aboutNode = ['src/client', 'src/io', 'src/jobs', 'src/logging', 'src/settings', 'e2e/executable', 'e2e/streams']
const all = ['src', 'e2e/demo', 'e2e/executable', 'e2e/streams', 'e2e/terminal']

function test(node, isNewest) {
  const projects = ['client', 'smoke', 'end to end'].flatMap(name => ['--project', name])
  const runner = ['node_modules/vitest/vitest.mjs', 'run', '--config', 'test/vitest.config.ts']
  // The runner itself touches a browser's global, and Node 26 warns of it; what the commands print is left alone.
  const env = { TEST_ENGINE: 'none', NODE_OPTIONS: '--disable-warning=ExperimentalWarning' }
  const files = (isNewest ? all : aboutNode).map(name => `test/${name}`)
  return run(node, [...runner, ...projects, ...files], env)
}

for (const major of majors) {
  const node = fetchNode(major)
  if (node === null) {
    process.stderr.write(`\n*** SKIPPED: the tests on Node.js ${major}, which cannot be had from npm. ***\n\n`)
    if (process.env.CI) process.exitCode = 1
    continue
  }
  process.stderr.write(`\nOn Node.js ${major}:\n`)
  if (!test(node, major === majors.at(-1))) process.exitCode = 1
}
