import { type Format, rowsOnly, typed } from './format.ts'
import { yamlText } from './safe.ts'

/** A YAML 1.2 document for each row; values are JSON. */
export const yaml: Format = (view, options) => {
  const shown = typed(view, options)
  const field = ([name, value]: [string, unknown]) => `${bareKey.test(name) ? name : yamlText(name)}: ${flow(value)}\n`
  const block = (row: object) => {
    const fields = Object.entries(row).filter(([, value]) => value !== undefined)
    return `---\n${fields.map(field).join('') || '{}\n'}`
  }
  return rowsOnly(rows => rows.map(row => block(shown(row) as object)).join(''))
}

/** Keys that every reader parses as a string. */
const bareKey = /^(?!(?:y|n|yes|no|on|off|true|false|null|nan|inf)$)[a-z][a-z_]*$/

function flow(value: unknown): string {
  if (typeof value === 'string') return yamlText(value)
  if (Array.isArray(value)) return `[${value.map(flow).join(', ')}]`
  if (typeof value === 'object' && value !== null) return `{${Object.entries(value).map(pair).join(', ')}}`
  // YAML 1.1 reads 1e+21 as a string.
  return JSON.stringify(value).replace(/^(-?\d+)e/, '$1.0e')
}

/** Keys of more than 1,024 characters need `? `. */
function pair([name, value]: [string, unknown]): string {
  const key = yamlText(name)
  return `${key.length > 1000 ? '? ' : ''}${key}: ${flow(value)}`
}
