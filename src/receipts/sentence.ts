/** With the observation that justifies it. */
export interface Sentence<Seen> {
  readonly entitledBy: string
  holds(seen: Seen): boolean
}

/** @throws Error unless exactly one holds */
export function choose<Name extends string, Seen>(table: Readonly<Record<Name, Sentence<Seen>>>, seen: Seen): Name {
  const [name, another] = (Object.keys(table) as Name[]).filter(each => table[each].holds(seen))
  if (name === undefined || another !== undefined)
    throw new Error(`the sentences contradict each other, and none is signed: ${JSON.stringify(seen)}`)
  return name
}
