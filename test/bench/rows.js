// How many rows a second the table renderer writes, and how that compares to cli-table3 in windows of 100 rows.
// Prints one line of JSON; ends with 1 where it is slower than what is promised.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { build } from 'esbuild'

/** Rows a second. */
const promised = 50_000
const [count, page, columns] = [100_000, 100, 200]

const bundle = await build({
  absWorkingDir: fileURLToPath(new URL('../..', import.meta.url)),
  stdin: {
    contents: `
      export { table } from './src/output/table.ts'
      export { consentView } from './src/views/consent.ts'
      export { default as Table } from 'cli-table3'`,
    resolveDir: fileURLToPath(new URL('../..', import.meta.url)),
  },
  bundle: true,
  write: false,
  format: 'esm',
  platform: 'node',
  banner: { js: "import{createRequire}from'node:module';const require=createRequire(import.meta.url);" },
})
const folder = mkdtempSync(join(tmpdir(), 'rows-'))
const file = join(folder, 'rows.mjs')
writeFileSync(file, bundle.outputFiles[0].contents)
const { table, consentView, Table } = await import(pathToFileURL(file).href)
rmSync(folder, { recursive: true })

const subjects = ['maria@example.com', 'user-48151623', 'zoë.müller@example.de', '田中太郎', 'crm:8812/eu', '김민준']
const agents = ['Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0 Safari/537.36']
const record = index => ({
  id: `01939d2c-7b1a-7c3e-9a51-${index.toString(16).padStart(12, '0')}`,
  site_id: '01939d2c-7b1a-7c3e-9a51-000000000abc',
  consent_id: `banner-${index % 50}`,
  subject_id: subjects[index % subjects.length],
  country: 'DE',
  region: 'BE',
  user_agent: agents[0],
  accepted: index % 3 > 0,
  preferences: { marketing: index % 2 === 0, analytics: true, note: index % 10 ? 'web' : '同意済み' },
  policy_version: 3,
  created_at: '2026-01-31T09:30:00.000Z',
  updated_at: '2026-01-31T09:30:00.000Z',
  deleted_at: null,
})
const pages = Array.from({ length: count / page }, (_, number) =>
  Array.from({ length: page }, (_, index) => record(number * page + index)),
)

/** Seconds that the work takes, the quickest of three runs. */
function seconds(work) {
  const runs = [1, 2, 3].map(() => {
    const start = process.hrtime.bigint()
    work()
    return Number(process.hrtime.bigint() - start) / 1e9
  })
  return Math.min(...runs)
}

let bytes = 0
const ours = seconds(() => {
  const renderer = table(consentView, { single: false, columns, color: true, header: false })
  for (const rows of pages) bytes += renderer.rows(rows).length
})
const shown = consentView.columns.filter(({ rank }) => rank !== undefined)
const some = pages.slice(0, 50)
const theirs = seconds(() => {
  for (const rows of some) {
    const grid = new Table({ head: shown.map(({ name }) => name) })
    for (const row of rows) grid.push(shown.map(column => column.text?.(row) ?? String(column.value(row))))
    bytes += grid.toString().length
  }
})

const perSecond = Math.round(count / ours)
const ratio = Math.round((perSecond / ((some.length * page) / theirs)) * 10) / 10
process.stdout.write(
  `${JSON.stringify({ rows: count, columns: shown.length, rows_per_second: perSecond, times_cli_table3: ratio, bytes })}\n`,
)
if (perSecond < promised) process.exitCode = 1
