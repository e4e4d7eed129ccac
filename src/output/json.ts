import { type Format, rowsOnly, typed } from './format.ts'
import { safeJson, safeJsonLines } from './safe.ts'

export const json: Format = (view, options) => {
  const shown = typed(view, options)
  if (options.single) {
    return rowsOnly(rows => rows.map(row => `${safeJson(shown(row), 2)}\n`).join(''))
  }
  let isFirst = true
  return {
    begin: () => '[',
    rows: rows =>
      rows
        .map(row => {
          const separator = isFirst ? '\n' : ',\n'
          isFirst = false
          return separator + safeJson(shown(row))
        })
        .join(''),
    end: () => (isFirst ? ']\n' : '\n]\n'),
  }
}

export const ndjson: Format = (view, options) => {
  const shown = typed(view, options)
  return rowsOnly(rows => safeJsonLines(rows.map(shown)))
}
