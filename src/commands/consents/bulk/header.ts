import { formatCount } from '../../../cli/messages.ts'
import type { Context } from '../../../context.ts'
import { usageError } from '../../../errors/errors.ts'
import { type Delimiter, openTable, readSeparator } from '../../../io/csv.ts'
import { type Line, rawOf } from '../../../io/input.ts'
import { type CsvParser, csvParser, fieldOf } from './columns.ts'
import type { LineKind, LineParser, ReaderOptions } from './lines.ts'
import { fold } from './words.ts'

export function openHeader(ctx: Context, kind: LineKind<unknown>, options: ReaderOptions) {
  const { fields, noun, silenceRefuses, isOfIds } = kind
  const { map, unguard, format } = options
  const mapped = new Set(Object.values(map.fields ?? {}).map(column => fold(column ?? '')))
  const isKnown = (name: string) => mapped.has(fold(name)) || fieldOf(name, fields) !== undefined
  let delimiter: Delimiter | undefined = format === 'tsv' ? '\t' : undefined
  let raw: Uint8Array | null = null
  let parser: CsvParser | null = null
  let [isHeaderTold, isTold] = [options.isResumed, options.isResumed]
  const tellHeader = async ({ unused, has }: CsvParser) => {
    if (isHeaderTold || (map.fields === null && !isOfIds)) return
    isHeaderTold = true
    const why = map.fields === null ? '' : ', because the map does not name them'
    if (unused.length > 0) await ctx.warn(`not used${why}: ${quoteAll(unused)}`)
    if (silenceRefuses && !has('accepted'))
      await ctx.warn('no column is mapped to "accepted", so every line records a refusal')
  }
  return {
    /** Null if there is no header yet. @throws CliError if it is invalid */
    take: async (lines: Line[]): Promise<LineParser | null> => {
      const separator = lines[0] && readSeparator(lines[0])
      if (separator) {
        delimiter = separator
        lines.shift()
      }
      const first = lines.shift()
      if (!first) return null
      raw = rawOf(first)
      parser = csvParser(await openTable(first, delimiter, isKnown), { fields, noun, isOfIds, map, unguard })
      await tellHeader(parser)
      return parser.parse
    },
    raw: () => raw,
    end: async () => {
      if (isTold) return
      isTold = true
      const unanswered = parser?.has('accepted') ? parser.unanswered() : 0
      if (silenceRefuses && map.fields !== null && unanswered > 0)
        await ctx.warn(`without an answer, which records a refusal: ${formatCount(unanswered, 'line')}`)
      for (const [column, word] of parser?.keptWords ?? [])
        await ctx.warn(
          `"${word}" in ${column} is kept as text: to read it as true or false, name it with --true or --false`,
        )
    },
  }
}

/** @throws UsageError */
export function requireNoHeader({ number, bytes }: Line, name: string, fields: readonly string[]): void {
  const text = bytes.toString()
  if (/^\s*[{[]/.test(text)) return
  const names = text.split(/[,;\t]/).map(name => name.trim().replace(/^"(.*)"$/, '$1'))
  if (!names.some(name => fieldOf(name, fields) !== undefined)) return
  throw usageError(
    `line ${number} of ${name} is not JSON but looks like a CSV header, so nothing was sent`,
    'read it as CSV: --format csv',
  )
}

function quoteAll(names: readonly string[]): string {
  const shown = names.slice(0, 10).map(name => `"${name}"`)
  return shown.join(', ') + (names.length > shown.length ? ` and ${names.length - shown.length} more` : '')
}
