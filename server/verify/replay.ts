import { sha256 } from '../../src/evidence/bytes.ts'
import type { Found } from './work.ts'

type Values = Readonly<Record<string, unknown>>

const lists = { users: 'user', sites: 'site', keys: 'api_key' } as const

/** Settings by kind and id: each member's JSON, or the SHA-256 of a longer one. */
export class Replay {
  readonly #states = new Map<string, Map<string, string>>()

  /** Returns how an entry contradicts earlier ones, or null. */
  apply(entry: object, version: number): string | null {
    const { action, target, before, after } = entry as Values
    if (action === 'records_purged' || action === 'imported') return null
    if (action === 'account_created') {
      this.#begin(asValues(after))
      return null
    }
    const name = nameOf(asValues(target))
    const problem = this.#findProblem(name, before)
    if (after === null) this.#states.delete(name)
    else this.#set(name, { ...asValues(after), ...(action === 'notice_published' ? { published_entry: version } : {}) })
    return problem
  }

  #findProblem(name: string, before: unknown): string | null {
    const state = this.#states.get(name)
    if (before === null) return state ? `creates the ${name}, which exists` : null
    if (!state) return `changes the ${name}, which does not exist`
    const wrong = differences(state, toState(asValues(before)), false)
    return wrong.length > 0 ? `contradicts the earlier ${wrong.join(', ')} of the ${name}` : null
  }

  #begin(after: Values): void {
    const account: Record<string, unknown> = {}
    for (const [member, value] of Object.entries(after)) {
      const kind = Object.hasOwn(lists, member) ? lists[member as keyof typeof lists] : null
      if (!kind) account[member] = value
      else
        for (const one of Array.isArray(value) ? value : []) this.#set(`${kind} ${asValues(one)['id']}`, asValues(one))
    }
    this.#set('account', account)
  }

  #set(name: string, values: Values): void {
    const state = this.#states.get(name)
    const next = toState(values)
    if (!state) this.#states.set(name, next)
    else for (const [member, value] of next) state.set(member, value)
  }

  /** Compares a setting, then removes it. `values` is null if unreadable. */
  compare(name: string, values: object | null): Found[] {
    const state = this.#states.get(name)
    this.#states.delete(name)
    if (!state) return [{ problem: 'forged', detail: `the administrators’ log does not have the ${name}` }]
    if (!values) return [{ problem: 'changed', detail: `the ${name} has values that the service cannot have written` }]
    const wrong = differences(state, toState(values as Values), true).join(', ')
    if (wrong === '') return []
    return [{ problem: 'changed', detail: `the ${wrong} of the ${name} do not match the administrators’ log` }]
  }

  remaining(): Iterable<string> {
    return this.#states.keys()
  }
}

function nameOf({ kind, id, policy_version }: Values): string {
  if (kind === 'account') return 'account'
  return policy_version === undefined ? `${kind} ${id}` : `${kind} ${id} ${policy_version}`
}

function asValues(value: unknown): Values {
  return typeof value === 'object' && value !== null ? (value as Values) : {}
}

const maxText = 100

function toState(values: Values): Map<string, string> {
  return new Map(
    Object.entries(values).map(([member, value]) => {
      const text = JSON.stringify(value)
      return [member, text.length > maxText ? sha256(text).toString('hex') : text]
    }),
  )
}

/** Returns the members that differ: those of `other`, with `isWhole` of both. */
function differences(one: Map<string, string>, other: Map<string, string>, isWhole: boolean): string[] {
  const names = isWhole ? new Set([...one.keys(), ...other.keys()]) : other.keys()
  return [...names].filter(name => one.get(name) !== other.get(name))
}
