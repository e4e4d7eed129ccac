import type { Cell, Column } from './format.ts'

/** Spreadsheets have at most 16,384 columns; further keys stay in the object's column. */
const maxParts = 200

/** Such as `pref.marketing`. */
export function findPart<Row>(columns: readonly Column<Row>[], name: string): Column<Row> | undefined {
  for (const column of columns) {
    const prefix = column.parts?.prefix
    if (prefix && name.startsWith(prefix) && name.length > prefix.length) return part(column, name.slice(prefix.length))
  }
  return undefined
}

/** One column for each key of `rows`, and one for keys of later rows. */
export function spreadParts<Row>(columns: readonly Column<Row>[], rows: readonly Row[]): readonly Column<Row>[] {
  return columns.flatMap(column => {
    const { parts } = column
    if (!parts) return [column]
    const chosen = columns.map(({ name }) => name).filter(name => name.startsWith(parts.prefix))
    const names = new Set(rows.flatMap(row => Object.keys(parts.of(row) ?? {}).filter(isName)))
    const added = [...names].filter(name => !chosen.includes(parts.prefix + name)).slice(0, maxParts)
    const shown = new Set([...chosen.map(name => name.slice(parts.prefix.length)), ...added])
    const rest = (row: Row): Cell => {
      const left = Object.entries(parts.of(row) ?? {}).filter(([name]) => !shown.has(name))
      return left.length > 0 ? Object.fromEntries(left) : null
    }
    return [...added.map(name => part(column, name)), { ...column, value: rest }]
  })
}

/** True if an import reads the key as a column name. */
function isName(name: string): boolean {
  return name !== '' && name !== '__proto__' && name === name.trim()
}

function part<Row>({ parts }: Column<Row>, name: string): Column<Row> {
  const of = (row: Row): unknown => {
    const object = parts?.of(row)
    return object && Object.hasOwn(object, name) ? object[name] : undefined
  }
  return {
    name: `${parts?.prefix ?? ''}${name}`,
    value: row => (of(row) ?? null) as Cell,
    source: row => (of(row) === undefined ? null : toSource(of(row))),
  }
}

/** Plain text if an import and `--pref` read it as such, else JSON. */
export function toSource(value: unknown): string {
  return typeof value === 'string' && value !== '' && !isJson(value) ? value : JSON.stringify(value)
}

export function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
