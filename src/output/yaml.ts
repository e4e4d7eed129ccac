import { type Format, typed } from './format.ts'
import { yamlText } from './safe.ts'

/** A document for each row (YAML 1.2): a key on each line, whose value is written as in JSON, which YAML reads alike. */
export const yaml: Format = (view, options) => {
  const shown = typed(view, options)
  const field = ([name, value]: [string, unknown]) =>
    `${bareKey.test(name) ? name : yamlText(name)}: ${flow(value)}\n`
  const block = (row: object) => {
    const fields = Object.entries(row).filter(([, value]) => value !== undefined)
    return `---\n${fields.map(field).join('') || '{}\n'}`
  }
  return {
    begin: () => '',
    rows: rows => rows.map(row => block(shown(row) as object)).join(''),
    end: () => '',
  }
}

/** What is a text without quotes too, to every reader. */
const bareKey = /^(?!(?:y|n|yes|no|on|off|true|false|null|nan|inf)$)[a-z][a-z_]*$/

/** A value of JSON on one line. */
function flow(value: unknown): string {
  if (typeof value === 'string') return yamlText(value)
  if (Array.isArray(value)) return `[${value.map(flow).join(', ')}]`
  if (typeof value === 'object' && value !== null) return `{${Object.entries(value).map(pair).join(', ')}}`
  // Readers of YAML 1.1 take 1e+21 for a text.
  return JSON.stringify(value).replace(/^(-?\d+)e/, '$1.0e')
}

/** A reader need not look further than 1,024 characters for the colon of a key that is not announced. */
function pair([name, value]: [string, unknown]): string {
  const key = yamlText(name)
  return `${key.length > 1000 ? '? ' : ''}${key}: ${flow(value)}`
}
