import Table from 'cli-table3'
import type { Consent } from '../../src/contract/index.ts'
import { table } from '../../src/output/table.ts'
import { consentView } from '../../src/views/consent.ts'
import type { Row } from './numbers.ts'

const promised = 50_000
const [count, pageSize, columns] = [100_000, 100, 200]
const subjects = ['maria@example.com', 'user-48151623', 'zoë.müller@example.de', '田中太郎', 'crm:8812/eu', '김민준']

const record = (index: number) =>
  ({
    id: `01939d2c-7b1a-7c3e-9a51-${index.toString(16).padStart(12, '0')}`,
    site_id: '01939d2c-7b1a-7c3e-9a51-000000000abc',
    ...{ consent_id: `banner-${index % 50}`, subject_id: subjects[index % subjects.length] },
    ...{ country: 'DE', region: 'BE', policy_version: 3, deleted_at: null, accepted: index % 3 > 0 },
    user_agent: 'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0 Safari/537.36',
    preferences: { marketing: index % 2 === 0, analytics: true, note: index % 10 ? 'web' : '同意済み' },
    ...{ created_at: '2026-01-31T09:30:00.000Z', updated_at: '2026-01-31T09:30:00.000Z' },
  }) as Consent

/** Rows of a table written per second, against cli-table3 in windows of a page. */
export async function* rows(): AsyncGenerator<Row> {
  const pages = Array.from({ length: count / pageSize }, (_, number) =>
    Array.from({ length: pageSize }, (_, index) => record(number * pageSize + index)),
  )
  const ours = quickest(pages, () => {
    const renderer = table(consentView, { single: false, columns, color: true, header: false })
    return page => renderer.rows(page)
  })
  const shown = consentView.columns.filter(({ rank }) => rank !== undefined)
  const bare = quickest(pages.slice(0, 50), () => page => {
    const grid = new Table({ head: shown.map(({ name }) => name) })
    for (const row of page) grid.push(shown.map(column => column.text?.(row) ?? String(column.value(row))))
    return grid.toString()
  })
  const notes = { notes: 'at least 50,000', isOver: !(ours >= promised) }
  yield { group: 'rows', name: 'rows of a table', unit: '/s', ours: [ours], bare: [bare], ...notes }
}

type Write = (page: readonly Consent[]) => string

/** Returns the most rows a second of three runs. */
function quickest(pages: readonly (readonly Consent[])[], open: () => Write): number {
  const runs = [1, 2, 3].map(() => {
    const write = open()
    const start = performance.now()
    for (const page of pages) write(page)
    return (pages.length * pageSize * 1000) / (performance.now() - start)
  })
  return Math.max(...runs)
}
