import type { Command } from 'commander'
import * as z from 'zod'
import { nonEmpty, textAction } from '../../cli/action.ts'
import { instanceLabel } from '../../cli/messages.ts'
import { listRequests } from '../../cli/register.ts'
import { endInstant, startInstant } from '../../cli/time.ts'
import type { Context } from '../../context.ts'
import { type DataSubjectRequest, requestKinds } from '../../contract/requests.ts'
import { isOverdue, today } from '../../domain/due.ts'
import { usageError } from '../../errors/errors.ts'
import { widthOf } from '../../output/graphemes.ts'
import { formats, type View, visible } from '../../output/index.ts'
import { markdownTable, markdownText, withoutEntities } from '../../output/markdown.ts'
import { wordLines } from '../../output/word-lines.ts'
import { field } from '../../views/field.ts'

const Options = z.strictObject({
  from: nonEmpty.optional(),
  to: nonEmpty.optional(),
  format: z.enum(['md', 'csv'], 'must be md or csv').optional(),
})

export function report(command: Command, ctx: Context): void {
  command
    .option('--from <date>', 'first day of receipt, such as 2026-03-01 (default: January 1 of this year)')
    .option('--to <date>', 'last day of receipt (today)')
    .option('--format <md|csv>', 'md: Markdown; csv: a line for each request (a page on a terminal)')
    .description(`
Summarizes the requests received in a period (days in UTC), for a supervisory authority: how many of each kind,
how fast they were answered, and which were late and why. It leaves out the identifiers of subjects; reasons are
printed as written. Withdrawn requests count as closed, not as answered.

Examples:
  $ consentctl requests report --from 2026-01-01 --to 2026-12-31 --out report.md
  $ consentctl requests report --format csv --out requests.csv`)
    .action(
      textAction(ctx, Options, async (_, { from, to, format }) => {
        const now = new Date()
        const day = today()
        const first = from === undefined ? `${day.slice(0, 4)}-01-01` : startInstant(from, now).slice(0, 10)
        const last = to === undefined ? day : endInstant(to, now).slice(0, 10)
        if (first > last) throw usageError('--from must not be after --to')
        const reported: Reported[] = []
        for await (const page of listRequests(ctx.api, { received_from: first, received_to: last }))
          reported.push(...page.map(request => reportedOf(request, day)))
        reported.sort((a, b) => (a.received_on + a.ticket < b.received_on + b.ticket ? -1 : 1))
        if (format === 'csv') return await formatCsv(ctx, reported)
        const page = pageOf(reported, `${first} to ${last}`, `${instanceLabel(ctx)}, ${now.toISOString()}`)
        const isRead = ctx.io.out.isTerminal && ctx.globals.out === undefined
        if (!isRead) return formatMarkdown(page)
        return format === undefined ? await formatText(ctx, page) : withoutEntities(formatMarkdown(page))
      }),
    )
}

/** Without personal data. */
interface Reported
  extends Pick<
    DataSubjectRequest,
    | 'ticket'
    | 'kind'
    | 'state'
    | 'outcome'
    | 'received_on'
    | 'due_on'
    | 'extension_reason'
    | 'outcome_reason'
    | 'purge_due_on'
    | 'purged_on'
    | 'held_until'
    | 'sealed_proofs'
    | 'sealed_until'
  > {
  /** In UTC. */
  readonly closed_on: string | null
  readonly days: number | null
  /** Days from the due day until closed, or until today; 0 if not late. */
  readonly days_late: number
}

function reportedOf(request: DataSubjectRequest, today: string): Reported {
  const { ticket, kind, state, outcome, received_on, due_on, extension_reason, outcome_reason, closed_at } = request
  const { purge_due_on = null, purged_on = null, held_until, sealed_proofs, sealed_until } = request
  const closed_on = closed_at?.slice(0, 10) ?? null
  const isLate = closed_on === null ? isOverdue(request, today) : closed_on > due_on
  return {
    ...{ ticket, kind, state, outcome, received_on, due_on, closed_on, extension_reason, outcome_reason },
    ...{ purge_due_on, purged_on, held_until, sealed_proofs, sealed_until },
    days: closed_on === null ? null : daysBetween(received_on, closed_on),
    days_late: isLate ? daysBetween(due_on, closed_on ?? today) : 0,
  }
}

function daysBetween(first: string, last: string): number {
  return Math.max(0, Math.round((Date.parse(last) - Date.parse(first)) / 86_400_000))
}

function medianOf(sorted: readonly number[]): number | null {
  const [low, high] = [sorted[Math.ceil(sorted.length / 2) - 1], sorted[Math.floor(sorted.length / 2)]]
  return low === undefined || high === undefined ? null : (low + high) / 2
}

const reportedView: View<Reported> = {
  id: row => row.ticket,
  columns: [
    field('ticket'),
    field('kind'),
    field('state'),
    field('outcome'),
    field('received_on'),
    field('due_on'),
    field('closed_on'),
    field('days'),
    field('days_late'),
    field('extension_reason'),
    field('outcome_reason'),
    field('purge_due_on'),
    field('purged_on'),
    field('held_until'),
    field('sealed_proofs'),
    field('sealed_until'),
  ],
}

async function formatCsv({ globals }: Context, rows: readonly Reported[]): Promise<string> {
  const format = await formats.csv(false)
  const unguarded = globals.csvGuard === false
  const options = { single: false, columns: 0, color: false, header: true, unguarded }
  const renderer = format(reportedView, options)
  return renderer.begin() + renderer.rows(rows) + renderer.end()
}

interface Grid {
  readonly heads: readonly string[]
  readonly rows: readonly (readonly string[])[]
}

/** Paragraphs, headings (`#`, `##`) and tables. */
type Page = readonly (string | Grid)[]

function pageOf(reported: readonly Reported[], period: string, source: string): Page {
  const kinds = requestKinds.map(kind => [kind, reported.filter(each => each.kind === kind)] as const)
  const figures = [...kinds, ['all', reported] as const].map(([name, rows]) => [name, ...figureCells(rows)])
  const late = reported.filter(({ days_late }) => days_late > 0).map(lateCells)
  const extended = reported
    .filter(({ extension_reason }) => extension_reason !== null)
    .map(row => [row.ticket, row.kind, row.received_on, row.due_on, row.extension_reason ?? ''])
  const erased = reported
    .filter(({ kind, outcome }) => kind === 'erasure' && outcome === 'done')
    .map(row => [row.ticket, row.closed_on ?? '', row.purged_on ?? '–', dueOf(row), keptOf(row)])
  const heads = ['Kind', 'Received', 'Open', 'Done', 'Refused', 'Withdrawn', 'Late', 'Days: median', 'Days: longest']
  const orNone = (grid: Grid) => (grid.rows.length === 0 ? 'None.' : grid)
  return [
    `# Requests of data subjects, ${period}`,
    `By the day of receipt (UTC). Days are those from the receipt to the answer, of requests that were done or refused. Source: ${source}`,
    { heads, rows: figures },
    '## Late',
    orNone({ heads: ['Ticket', 'Kind', 'Received', 'Due', 'Closed', 'Days late', 'Why'], rows: late }),
    '## Extended',
    orNone({ heads: ['Ticket', 'Kind', 'Received', 'Due', 'Why'], rows: extended }),
    '## Erased',
    'Erased data stays until its purge. Purged: the day on which nothing was left, as observed at the close or reported later; Purge due: the day as of the close, or until when a legal hold stands now; Kept: sealed proofs of purged records that are left now, and when the last one ends, or later while a legal hold stands.',
    orNone({ heads: ['Ticket', 'Closed', 'Purged', 'Purge due', 'Kept'], rows: erased }),
  ]
}

/** A hold keeps what is not purged. */
function dueOf({ purge_due_on, purged_on, held_until }: Reported): string {
  const held = purged_on === null && held_until !== null ? `held until ${held_until.slice(0, 10)}` : null
  return held ?? purge_due_on ?? '–'
}

function keptOf({ sealed_proofs: count, sealed_until }: Reported): string {
  return count === 0 ? '–' : `${count} until ${sealed_until?.slice(0, 10)}`
}

function formatMarkdown(page: Page): string {
  const parts = page.map(part => {
    if (typeof part !== 'string') return markdownTable(part.heads, part.rows)
    const [, mark = '', text = ''] = /^(#* ?)(.*)$/s.exec(part) ?? []
    return mark + markdownText(text)
  })
  return `${parts.join('\n\n')}\n`
}

async function formatText({ io: { out } }: Context, page: Page): Promise<string> {
  const format = await formats.table(false)
  const options = { single: false, columns: out.columns, color: out.color, header: true, uncut: true }
  const parts = page.map(part => {
    if (typeof part === 'string') return wordLines(visible(part.replace(/^#+ /, '')), out.columns, widthOf).join('\n')
    const columns = part.heads.map((head, index) => ({
      name: head.replace(/^Days: /, ''), // fits 80 columns
      value: (row: readonly string[]) => row[index] ?? '',
      whole: true,
      rank: index,
    }))
    return format({ id: row => row[0] ?? '', columns }, options)
      .rows(part.rows)
      .trimEnd()
  })
  return `${parts.join('\n\n')}\n`
}

function figureCells(rows: readonly Reported[]): string[] {
  const count = (outcome: Reported['outcome']) => rows.filter(row => row.outcome === outcome).length
  const late = rows.filter(({ days_late }) => days_late > 0).length
  const counts = [rows.length, count(null), count('done'), count('refused'), count('withdrawn'), late]
  const days = rows
    .flatMap(row => (row.days !== null && row.outcome !== 'withdrawn' ? [row.days] : []))
    .sort((a, b) => a - b)
  return [...counts.map(String), daysText(medianOf(days)), daysText(days.at(-1) ?? null)]
}

function daysText(days: number | null): string {
  if (days === null) return '–'
  return Number.isInteger(days) ? String(days) : `${Math.floor(days)}½`
}

function lateCells({ ticket, kind, received_on, due_on, closed_on, days_late, ...row }: Reported): string[] {
  const why = row.outcome_reason ?? row.extension_reason ?? 'not given'
  return [ticket, kind, received_on, due_on, closed_on ?? 'open', String(days_late), why]
}
