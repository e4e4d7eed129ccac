// The tests that `npm test` leaves out, or some parts of them: npm run test:all -- [PART …]
import { spawnSync } from 'node:child_process'
import { root } from '../bin/releases.js'

const vitest = (...projects) => [
  'node_modules/vitest/vitest.mjs',
  'run',
  '--config',
  'test/vitest.config.ts',
  ...projects.flatMap(name => ['--project', name]),
]

/** Each part by its name, as arguments of Node.js. */
const parts = {
  slow: [vitest('slow', 'embedded')],
  'end-to-end': [vitest('end to end')],
  timed: [vitest('timed')],
  nodes: [['test/nodes.js']],
  executable: [['bin/build-sea.js'], ['test/sea.js']],
}

const wanted = process.argv.slice(2)
const unknown = wanted.filter(name => !(name in parts))
if (unknown.length > 0) {
  process.stderr.write(`unknown part "${unknown[0]}": use ${Object.keys(parts).join(', ')}\n`)
  process.exit(2)
}

const results = []
for (const name of wanted.length > 0 ? wanted : Object.keys(parts)) {
  const startedAt = Date.now()
  const isGreen = parts[name].every(
    args => spawnSync(process.execPath, args, { cwd: root, stdio: ['ignore', 'inherit', 'inherit'] }).status === 0,
  )
  results.push({ name, isGreen, seconds: Math.round((Date.now() - startedAt) / 1000) })
}
for (const { name, isGreen, seconds } of results)
  process.stderr.write(`${isGreen ? 'passed' : 'FAILED'}  ${name}  ${seconds} s\n`)
if (results.some(({ isGreen }) => !isGreen)) process.exitCode = 1
