import { dataError } from '../../../../errors/errors.ts'
import type { ImportMap } from './map.ts'
import type { DecidedValue } from './prepared.ts'

export type Table = DecidedValue['table']

/** Undefined if undecided. */
type Decision = string | number | false | undefined

interface Counted {
  readonly decision: Decision
  readonly column: string
  readonly first: string
  count: number
}

/** A column with more values does not contain answers. */
const maxValues = 10_000

const order: readonly Table[] = ['event', 'accepted', 'names', 'values', 'policy_versions']

export type Decisions = ReturnType<typeof openDecisions>

/** `placeOf` names the row that is being read, such as `export.csv:3`. */
export function openDecisions(map: ImportMap, placeOf: () => string) {
  const deciders: Readonly<Record<Table, (value: string) => Decision>> = {
    event: tableDecider(map.event?.values),
    accepted: tableDecider({ ...map.values, ...map.accepted?.values }),
    names: nameDecider(map),
    values: tableDecider(map.values),
    policy_versions: versionDecider(map),
  }
  const seen = new Map(order.map(table => [table, new Map<string, Counted>()]))
  let undecided = 0
  const count = (table: Table, value: string, column: string): Counted => {
    const values = seen.get(table) as Map<string, Counted>
    const known = values.get(value)
    if (known) return known
    if (values.size >= maxValues)
      throw dataError(
        `the map's ${table} would have over ${maxValues.toLocaleString('en-US')} values`,
        'the map may name the wrong column',
      )
    const counted = { decision: deciders[table](value), column, first: placeOf(), count: 0 }
    if (counted.decision === undefined) undecided += 1
    values.set(value, counted)
    return counted
  }
  return {
    decide: (table: Table, value: string, column: string): Decision => {
      const counted = count(table, value, column)
      counted.count += 1
      return counted.decision
    },
    undecided: () => undecided,
    /** By table, most frequent values first. */
    values: (): DecidedValue[] =>
      order.flatMap(table =>
        [...(seen.get(table) ?? [])]
          .sort(([a, { count: ofA }], [b, { count: ofB }]) => ofB - ofA || (a < b ? -1 : 1))
          .map(([value, { decision, column, first, count }]) => ({
            table,
            value,
            count,
            column,
            first,
            becomes: decision === undefined ? null : decision === false ? 'dropped' : decision,
          })),
      ),
  }
}

/** An empty value is `left_out` by default. */
function tableDecider(table: Readonly<Record<string, string | null>> | undefined): (value: string) => Decision {
  const entries = new Map(Object.entries(table ?? {}))
  return value => (value === '' && !entries.has('') ? 'left_out' : (entries.get(value) ?? undefined))
}

function nameDecider({ names, other_names }: ImportMap): (value: string) => Decision {
  const entries = new Map(Object.entries(names))
  return name => (entries.has(name) ? (entries.get(name) ?? undefined) : other_names === 'keep' ? name : undefined)
}

function versionDecider({ policy_versions }: ImportMap): (value: string) => Decision {
  const entries = new Map(Object.entries(policy_versions))
  return value => {
    if (entries.has(value)) return entries.get(value) ?? undefined
    return /^[1-9]\d{0,9}$/.test(value) && Number(value) <= 2_147_483_647 ? Number(value) : undefined
  }
}
