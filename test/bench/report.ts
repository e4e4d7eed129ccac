import { cpus } from 'node:os'
import { isWithin, median, type Row, ratiosOf } from './numbers.ts'

const widths = [8, 44, 11, 11, 6, 7, 13, 7] as const
const head = ['group', 'what', 'ours', 'bare', '', 'ratio', 'of the pairs', 'bound'] as const

/** What the numbers were measured on. */
export function machine() {
  return { cores: cpus().length, cpu: cpus()[0]?.model ?? '', node: process.version }
}

/** All that was measured: medians of both sides, the median of the pairs' ratios, and their least and greatest. */
export function table(about: object, rows: readonly Row[]): string {
  const title = Object.entries(about)
    .filter(([, value]) => value !== null)
    .map(([name, value]) => `${name} ${value}`)
    .join(', ')
  return `${[title, cells(head), ...rows.map(line)].join('\n')}\n`
}

/** A row of the table; `!` stands behind one that is out of its bound. */
export function line(row: Row): string {
  const { group, name, unit, ours, bare, bound, notes = '' } = row
  const ratios = ratiosOf(row)
  const spread = `${Math.min(...ratios).toFixed(2)}–${Math.max(...ratios).toFixed(2)}`
  const limit = bound ? ('least' in bound ? `≥ ${bound.least}` : `≤ ${bound.most}`) : ''
  const numbers = [short(median(ours)), short(median(bare)), unit, median(ratios).toFixed(2), spread, limit]
  return `${cells([group, name, ...numbers])}${isWithin(row) ? '' : ' !'}${notes && `  ${notes}`}`
}

function cells(texts: readonly string[]): string {
  return texts
    .map((text, index) => (index < 2 ? text.padEnd(widths[index] ?? 0) : text.padStart(widths[index] ?? 0)))
    .join(' ')
    .trimEnd()
}

function short(number: number): string {
  return number >= 100 ? number.toFixed(0) : number.toFixed(2)
}
