// The tests that `npm test` leaves out, or some parts of them: npm run test:all -- [PART …]
import { spawn } from 'node:child_process'
import { once } from 'node:events'
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
  cluster: [[...vitest('cluster'), '--passWithNoTests']],
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

/** Parts of one row run side by side: each of them alone leaves much of two processors idle. */
const rows = [['slow'], ['cluster'], ['end-to-end'], ['timed'], ['nodes', 'executable']]

async function run(args) {
  const child = spawn(process.execPath, args, { cwd: root, stdio: ['ignore', 'inherit', 'inherit'] })
  const [code] = await once(child, 'exit')
  return code === 0
}

async function runPart(name) {
  const startedAt = Date.now()
  let isGreen = true
  for (const args of parts[name]) isGreen &&= await run(args)
  return { name, isGreen, seconds: Math.round((Date.now() - startedAt) / 1000) }
}

const results = []
for (const row of rows) {
  const names = row.filter(name => wanted.length === 0 || wanted.includes(name))
  results.push(...(await Promise.all(names.map(runPart))))
}
for (const { name, isGreen, seconds } of results)
  process.stderr.write(`${isGreen ? 'passed' : 'FAILED'}  ${name}  ${seconds} s\n`)
if (results.some(({ isGreen }) => !isGreen)) process.exitCode = 1
