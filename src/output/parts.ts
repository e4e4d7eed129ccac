import type { Cell, Column } from './format.ts'

/** Such as `pref.marketing`. */
export function findPart<Row>(columns: readonly Column<Row>[], name: string): Column<Row> | undefined {
  for (const column of columns) {
    const prefix = column.parts?.prefix
    if (prefix && name.startsWith(prefix) && name.length > prefix.length) return part(column, name.slice(prefix.length))
  }
  return undefined
}

/** A column for each key of the row. */
export function partsIn<Row>(column: Column<Row>, row: Row): readonly Column<Row>[] {
  return Object.keys(column.parts?.of(row) ?? {}).map(name => part(column, name))
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
