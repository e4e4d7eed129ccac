// The tests that `npm test` leaves out, or some parts of them: npm run test:all -- [PART …]
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { root } from '../bin/releases.js'

/** Projects of vitest: one run has all that are wanted, because its start and the ends of its groups leave processors idle. */
const projects = { slow: ['slow', 'embedded'], cluster: ['cluster'], 'end-to-end': ['end to end'], timed: ['timed'] }

/** Arguments of Node.js for programs that run side by side after the tests: each alone leaves much of two processors idle. */
const programs = { nodes: [['test/nodes.js']], executable: [['bin/build-sea.js'], ['test/sea.js']] }

const parts = [...Object.keys(projects), ...Object.keys(programs)]
const given = process.argv.slice(2)
const unknown = given.filter(name => !parts.includes(name))
if (unknown.length > 0) {
  process.stderr.write(`unknown part "${unknown[0]}": use ${parts.join(', ')}\n`)
  process.exit(2)
}
const wanted = given.length > 0 ? given : parts

const folder = mkdtempSync(join(tmpdir(), 'consentctl-all-'))
let runs = 0

/** Runs the commands until one fails, and returns its failed tests, of vitest's runs below it too. */
async function run(name, commands) {
  const startedAt = Date.now()
  runs += 1
  const path = join(folder, String(runs))
  const env = { ...process.env, CONSENTCTL_TEST_FAILURES: path }
  let isGreen = true
  for (const args of commands) {
    if (!isGreen) break
    const child = spawn(process.execPath, args, { cwd: root, env, stdio: ['ignore', 'inherit', 'inherit'] })
    const [code] = await once(child, 'exit')
    isGreen = code === 0
  }
  const texts = existsSync(path) ? readFileSync(path, 'utf8').split('\n').filter(Boolean) : []
  const lines = texts.map(text => JSON.parse(text))
  const seconds = Math.round((Date.now() - startedAt) / 1000)
  const failures = lines.filter(({ isEnd }) => !isEnd)
  return { name, isGreen, isWhole: lines.some(({ isEnd }) => isEnd), seconds, failures }
}

const runner = ['node_modules/vitest/vitest.mjs', 'run', '--config', 'test/vitest.config.ts']
const named = projects => projects.flatMap(name => ['--project', name])

/** More files than this fail by a fault, not by the load of the tests beside them. */
const mostRepeated = 3

/** Runs files that failed once more, without others beside them: a fault fails again, and what the load broke is named. */
async function repeatAlone({ isWhole, failures }) {
  const files = [...new Map(failures.map(one => [`${one.project} ${one.file}`, one])).values()]
  const isKnown = isWhole && files.every(({ file }) => file !== null)
  if (!isKnown || files.length === 0 || files.length > mostRepeated) return []
  const repeated = []
  for (const { project, file } of files)
    repeated.push(await run(`${file} once more, alone`, [[...runner, ...named([project]), file]]))
  return repeated
}

const results = []
const tests = wanted.filter(name => name in projects)
if (tests.length > 0) {
  const all = await run(tests.join(', '), [
    [...runner, '--passWithNoTests', ...named(tests.flatMap(name => projects[name]))],
  ])
  const repeated = all.isGreen ? [] : await repeatAlone(all)
  all.isFlaky = repeated.length > 0 && repeated.every(({ isGreen }) => isGreen)
  results.push(all, ...repeated)
}
const others = wanted.filter(name => name in programs)
results.push(...(await Promise.all(others.map(name => run(name, programs[name])))))
rmSync(folder, { recursive: true })

// Last, because the output of the tests themselves is thousands of lines above.
for (const { name, isGreen, isFlaky, seconds, failures } of results) {
  const word = isGreen ? 'passed' : isFlaky ? 'FLAKY ' : 'FAILED'
  process.stderr.write(`${word}  ${name}  ${seconds} s\n`)
  for (const { project, file, test, message } of failures)
    process.stderr.write(`  ${project} › ${file} › ${test}: ${message}\n`)
}
if (results.some(({ isGreen, isFlaky }) => !isGreen && !isFlaky)) process.exitCode = 1
