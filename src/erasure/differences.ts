interface Known {
  readonly id: string
}

/** Compares ids and `formOf`; '' if nothing differs. */
export function describeDifferences<Item extends Known>(
  planned: readonly Item[],
  present: readonly Item[],
  formOf: (record: Item) => unknown,
): string {
  const now = new Map(present.map(record => [record.id, record]))
  const then = new Set(planned.map(({ id }) => id))
  const isChanged = (record: Item) => {
    const found = now.get(record.id)
    return found !== undefined && formOf(found) !== formOf(record)
  }
  return [
    describe(planned.filter(isChanged), 'changed'),
    describe(
      present.filter(({ id }) => !then.has(id)),
      'added',
    ),
    describe(
      planned.filter(({ id }) => !now.has(id)),
      'gone',
    ),
  ]
    .filter(text => text !== '')
    .join('; ')
}

function describe(records: readonly Known[], difference: string): string {
  if (records.length === 0) return ''
  const ids = records.slice(0, 3).map(({ id }) => id)
  return `${records.length} ${difference} (${ids.join(', ')}${records.length > 3 ? ', …' : ''})`
}

/** Not RFC 8785, which rejects lone surrogates that other instances may hold. */
export function sortedJson(record: unknown): string {
  const sorted = (_: string, value: unknown) =>
    typeof value === 'object' && value !== null && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
      : value
  return JSON.stringify(record, sorted)
}
