import type { Format } from './format.ts'
import { safeJson } from './safe.ts'

/** One array, written as it grows; one object for a single row. */
export const json: Format = (_view, { single }) => {
  let isFirst = true
  if (single) {
    return { begin: () => '', rows: rows => rows.map(row => `${safeJson(row, 2)}\n`).join(''), end: () => '' }
  }
  return {
    begin: () => '[',
    rows: rows =>
      rows
        .map(row => {
          const separator = isFirst ? '\n' : ',\n'
          isFirst = false
          return separator + safeJson(row)
        })
        .join(''),
    end: () => (isFirst ? ']\n' : '\n]\n'),
  }
}

/** A record a line: the format for streams. */
export const ndjson: Format = () => ({
  begin: () => '',
  rows: rows => rows.map(row => `${safeJson(row)}\n`).join(''),
  end: () => '',
})
