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

/** Failed tests of all parts, which are printed last: their own output is thousands of lines above. */
const folder = mkdtempSync(join(tmpdir(), 'consentctl-all-'))
const failures = join(folder, 'failures')
const env = { ...process.env, CONSENTCTL_TEST_FAILURES: failures }

async function run(name, commands) {
  const startedAt = Date.now()
  let isGreen = true
  for (const args of commands) {
    if (!isGreen) break
    const child = spawn(process.execPath, args, { cwd: root, env, stdio: ['ignore', 'inherit', 'inherit'] })
    const [code] = await once(child, 'exit')
    isGreen = code === 0
  }
  return { name, isGreen, seconds: Math.round((Date.now() - startedAt) / 1000) }
}

const results = []
const tests = wanted.filter(name => name in projects)
if (tests.length > 0) {
  const args = ['run', '--config', 'test/vitest.config.ts', '--passWithNoTests']
  const named = tests.flatMap(name => projects[name]).flatMap(name => ['--project', name])
  results.push(await run(tests.join(', '), [['node_modules/vitest/vitest.mjs', ...args, ...named]]))
}
const others = wanted.filter(name => name in programs)
results.push(...(await Promise.all(others.map(name => run(name, programs[name])))))
if (existsSync(failures)) process.stderr.write(`\n${readFileSync(failures, 'utf8')}`)
rmSync(folder, { recursive: true })
for (const { name, isGreen, seconds } of results)
  process.stderr.write(`${isGreen ? 'passed' : 'FAILED'}  ${name}  ${seconds} s\n`)
if (results.some(({ isGreen }) => !isGreen)) process.exitCode = 1
