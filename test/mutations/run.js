// Plants the faults of mutations.json in the checkout, one at a time, and runs the tests that must catch each:
//   npm run test:mutations -- [--check] [ID …]
// `--check` runs no test, and names only the faults that no longer apply. Exits with 1 unless all are caught (or apply).
//
// The tests have to pass without a fault. Some need PostgreSQL (s36, s41), and one needs root, to mount a small disk (c19).
import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { root } from '../../bin/releases.js'

const mutations = JSON.parse(readFileSync(new URL('mutations.json', import.meta.url), 'utf8'))
const isCheck = process.argv.includes('--check')
const ids = process.argv.slice(2).filter(word => word !== '--check')
const unknown = ids.find(id => !mutations.some(mutation => mutation.id === id))
if (unknown !== undefined) {
  process.stderr.write(`unknown fault "${unknown}": use the ids of test/mutations/mutations.json\n`)
  process.exit(2)
}

const longestRunMs = 15 * 60 * 1000
const scratch = mkdtempSync(join(tmpdir(), 'consentctl-mutations-'))
let restore = () => {}
let child = null

process.on('exit', () => {
  restore()
  rmSync(scratch, { recursive: true, force: true })
})
for (const [signal, number] of Object.entries({ SIGHUP: 1, SIGINT: 2, SIGTERM: 15 }))
  process.on(signal, () => {
    child?.kill('SIGTERM')
    process.exit(128 + number)
  })

const chosen = ids.length > 0 ? mutations.filter(({ id }) => ids.includes(id)) : mutations
const counts = {}
for (const mutation of chosen) {
  const startedAt = Date.now()
  const problem = findProblem(mutation)
  const outcome = problem ? 'stale' : isCheck ? 'applies' : await plant(mutation)
  counts[outcome] = (counts[outcome] ?? 0) + 1
  if (outcome === 'applies') continue
  const seconds = Math.round((Date.now() - startedAt) / 1000)
  const detail = problem ?? (outcome === 'caught' ? '' : `${mutation.meaning} (${mutation.tests.join(', ')})`)
  process.stdout.write(`${outcome}\t${mutation.id}\t${mutation.area}\t${seconds} s\t${detail}\n`)
}
const summary = Object.entries(counts).map(([outcome, count]) => `${count} ${outcome}`)
process.stderr.write(`${summary.join(', ')}\n`)
if (counts[isCheck ? 'applies' : 'caught'] !== chosen.length) process.exitCode = 1

/** Returns why a fault does not apply to the present code; null if it does. */
function findProblem({ file, find, tests }) {
  const missing = [file, ...tests].find(path => !existsSync(join(root, path)))
  if (missing) return `there is no ${missing}`
  const count = readFileSync(join(root, file), 'utf8').split(find).length - 1
  return count === 1 ? null : `its text occurs ${count} times in ${file}`
}

/** Returns `caught`, `survived`, or `untested` if no test ran. */
async function plant({ file, find, replace, tests }) {
  const path = join(root, file)
  const original = readFileSync(path, 'utf8')
  const isBuilt = tests.some(test => test.startsWith('test/e2e/'))
  restore = () => {
    writeFileSync(path, original)
    restore = () => {}
  }
  writeFileSync(
    path,
    original.replace(find, () => replace),
  )
  try {
    if (isBuilt && !(await build())) return 'untested'
    return await runTests(tests)
  } finally {
    restore()
    if (isBuilt) await build()
  }
}

/** Builds if sources have changed since the last build, so a run that was interrupted leaves no fault in later ones. */
async function build() {
  return (await runNode(['bin/setup.js'], { stdio: ['ignore', 2, 2] })) === 0
}

async function runTests(tests) {
  const report = join(scratch, 'report.json')
  rmSync(report, { force: true })
  const flags = ['--config', 'test/vitest.config.ts', '--bail', '1', '--reporter=json', `--outputFile=${report}`]
  const needsDatabase = tests.some(test => !test.startsWith('test/src/'))
  const code = await runNode(['node_modules/vitest/vitest.mjs', 'run', ...flags, ...tests], {
    env: { ...process.env, ...(!needsDatabase && { TEST_ENGINE: 'none' }) },
    stdio: 'ignore',
  })
  if (!existsSync(report)) return 'untested'
  const { numTotalTests, numPendingTests } = JSON.parse(readFileSync(report, 'utf8'))
  if (numTotalTests > 0 && code !== 0) return 'caught'
  return numTotalTests > numPendingTests ? 'survived' : 'untested'
}

/** Resolves to the exit code; null if a signal ended it. */
function runNode(args, options) {
  return new Promise((resolve, reject) => {
    child = spawn(process.execPath, args, { cwd: root, timeout: longestRunMs, ...options })
    child.on('error', reject).on('close', resolve)
  })
}
