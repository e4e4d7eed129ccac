import type { Sql } from 'postgres'
import { vi } from 'vitest'
import type { Caller } from '../../../server/auth/caller.ts'
import { createMany } from '../../../server/consents/create.ts'
import type { ConsentDeps } from '../../../server/consents/deps.ts'
import { newPolicies } from '../../../server/consents/deps.ts'
import { importRows } from '../../../server/consents/imports.ts'
import type { Created, Draft } from '../../../server/consents/rows.ts'
import { deleteConsent, restoreConsent, updateConsent } from '../../../server/consents/service.ts'
import { Batcher } from '../../../server/db/batching.ts'
import { newId } from '../../../server/ids.ts'
import { newPublishedNotices } from '../../../server/notices/published.ts'
import type { StatsQuery } from '../../../src/contract/index.ts'
import { consentOf } from '../../../src/evidence/state.ts'
import { inTurns } from '../consents/records.ts'

/** A record as the statistics must count it. */
interface Stated {
  readonly id: string
  readonly day: string
  readonly site: string
  readonly policy: number
  readonly country: string | null
  readonly subject: string | null
  readonly isImported: boolean
  readonly answers: { readonly accepted: boolean; readonly preferences: Record<string, unknown> }[]
  /** Purposes of its notice. */
  readonly named: readonly string[]
  isDeleted: boolean
  isPurged: boolean
}

const dayMs = 86_400_000
const firstDay = Date.UTC(2026, 0, 20)

export interface World {
  readonly sql: Sql
  readonly caller: Caller
  readonly sites: readonly string[]
  readonly random: () => number
  readonly days: number
  readonly originSecret: Uint8Array
  /** The purposes that the notice of a site and policy version names. */
  readonly purposesOf: (site: string, policy: number) => readonly string[]
}

/** Random records through the functions of the service, and what they must come to by a count of all of them. */
export class Model {
  readonly records: Stated[] = []
  /** How often all records of each person were purged: with a new record it is another person. */
  readonly #lives = new Map<number, number>()
  readonly #world: World
  readonly #deps: ConsentDeps

  constructor(world: World) {
    this.#world = world
    this.#deps = {
      sql: world.sql,
      config: { ipStorage: 'drop' },
      geo: { lookup: () => ({ country: null, region: null }) },
      originSecret: world.originSecret,
      policies: newPolicies(),
      notices: newPublishedNotices(),
      reads: new Batcher(),
      creates: new Batcher<Draft, Created>(),
    }
  }

  #pick<T>(items: readonly T[]): T {
    return items[Math.floor(this.#world.random() ** 2 * items.length)] as T
  }

  #preferences(): Record<string, unknown> {
    const { random } = this.#world
    const values = [true, false, 'true', null, 1, [true], undefined]
    const some = (key: string) => [key, values[Math.floor(random() * values.length)]] as const
    const entries = ['marketing', 'Werbung für Ähnliches', '@x', '1x', 'a'.repeat(65)].map(some)
    return Object.fromEntries(entries.filter(([, value]) => value !== undefined))
  }

  /** Creates records on a day, of persons who may have others on any day. */
  async create(count: number): Promise<void> {
    const { random, sites, days } = this.#world
    const at = firstDay + Math.floor(random() * days) * dayMs + Math.floor(random() * dayMs)
    const persons = Math.max(5, Math.round((this.records.length + count) / 3))
    const drafts = Array.from({ length: count }, () => {
      const person = Math.floor(random() * persons)
      const subject_id = random() < 0.2 ? undefined : `person ${person}, life ${this.#lives.get(person) ?? 0}`
      const draft = {
        site_id: this.#pick(sites),
        policy_version: this.#pick([1, 2, 3]),
        accepted: random() < 0.6,
        preferences: this.#preferences(),
        ...(subject_id !== undefined && { subject_id }),
      }
      return { draft, claim: null, place: { country: this.#pick(['DE', 'FR', null, 'AT']), region: null } } as const
    })
    const created = await this.#at(at, () =>
      createMany(this.#deps, this.#world.caller, new Map(drafts.entries()), 'minimal'),
    )
    for (const [index, { draft, place }] of drafts.entries()) {
      const result = created.get(index)
      if (!result || result instanceof Error) throw result ?? new Error('no result')
      this.records.push({
        id: JSON.parse(result.json).id,
        day: new Date(at).toISOString().slice(0, 10),
        site: draft.site_id,
        policy: draft.policy_version,
        country: place.country,
        subject: draft.subject_id ?? null,
        answers: [draft],
        named: this.#world.purposesOf(draft.site_id, draft.policy_version),
        isImported: false,
        isDeleted: false,
        isPurged: false,
      })
    }
  }

  /** Imports records on a day: answers of before, each with its own acceptance. */
  async import(count: number): Promise<void> {
    const { random, sites, days, caller } = this.#world
    const at = firstDay + Math.floor(random() * days) * dayMs + Math.floor(random() * dayMs)
    const persons = Math.max(5, Math.round((this.records.length + count) / 3))
    const answer = () => ({
      given_at: '2020-05-01T10:00:00Z',
      accepted: random() < 0.6,
      preferences: this.#preferences(),
    })
    const rows = Array.from({ length: count }, () => {
      const person = Math.floor(random() * persons)
      return {
        site_id: this.#pick(sites),
        policy_version: this.#pick([1, 2, 3]),
        origin: { system: 'acme', id: newId() },
        file_sha256: 'ab'.repeat(32),
        ...(random() < 0.8 && { subject_id: `person ${person}, life ${this.#lives.get(person) ?? 0}` }),
        ...answer(),
        changes: Array.from({ length: Math.floor(random() * 3) }, answer),
      }
    })
    const results = await this.#at(at, () =>
      importRows(this.#deps, caller, rows, { view: 'minimal', newIds: new Map() }),
    )
    for (const [index, { subject_id = null, changes, ...row }] of rows.entries()) {
      const result = results[index]
      if (!result || result instanceof Error) throw result ?? new Error('no result')
      this.records.push({
        id: JSON.parse(result.json).id,
        day: new Date(at).toISOString().slice(0, 10),
        site: row.site_id,
        policy: row.policy_version,
        country: null,
        subject: subject_id,
        answers: [row, ...changes],
        named: [],
        isImported: true,
        isDeleted: false,
        isPurged: false,
      })
    }
  }

  /** Runs `work` with the clock stopped at an instant. */
  async #at<T>(instant: number, work: () => Promise<T>): Promise<T> {
    vi.useFakeTimers({ toFake: ['Date'], now: instant })
    try {
      return await work()
    } finally {
      vi.useRealTimers()
    }
  }

  #some(count: number): Stated[] {
    const live = this.records.filter(({ isDeleted }) => !isDeleted)
    const at = Math.floor(this.#world.random() * Math.max(1, live.length - count))
    return live.slice(at, at + count)
  }

  async update(count: number): Promise<void> {
    const changes = this.#some(count).map(record => {
      const { random } = this.#world
      const accepted = random() < 0.5
      return { record, accepted, preferences: random() < 0.5 ? this.#preferences() : lastOf(record) }
    })
    await inTurns(changes, 4, async ({ record, accepted, preferences }) => {
      await updateConsent(this.#deps, this.#world.caller, record.id, { accepted, preferences })
      record.answers.push({ accepted, preferences })
    })
  }

  async delete(count: number): Promise<void> {
    await inTurns(this.#some(count), 4, async record => {
      await deleteConsent(this.#deps, this.#world.caller, record.id)
      record.isDeleted = true
    })
  }

  async restore(count: number): Promise<void> {
    const deleted = this.records.filter(({ isDeleted, isPurged }) => isDeleted && !isPurged)
    await inTurns(deleted.slice(0, count), 4, async record => {
      await restoreConsent(this.#deps, this.#world.caller, record.id, {})
      record.isDeleted = false
    })
  }

  /** To be called after everything that is deleted was purged. */
  purged(): void {
    for (const record of this.records.filter(({ isDeleted, isPurged }) => isDeleted && !isPurged)) {
      record.isPurged = true
      const [, person = ''] = /^person (\d+),/.exec(record.subject ?? '') ?? []
      if (person !== '') this.#lives.set(Number(person), (this.#lives.get(Number(person)) ?? 0) + 1)
    }
  }

  randomQuery(): StatsQuery {
    const { random, sites, days } = this.#world
    const day = () => new Date(firstDay + Math.floor(random() * days) * dayMs).toISOString().slice(0, 10)
    const [one = '', other = ''] = [day(), day()].sort()
    return {
      exact: true,
      site_id: random() < 0.4 ? this.#pick(sites) : undefined,
      from: random() < 0.6 ? one : undefined,
      to: random() < 0.6 ? other : undefined,
      by: this.#pick([undefined, 'day', 'week', 'month', 'site', 'policy', 'country', 'preference'] as const),
    }
  }

  /** The total and the groups by a count of every record, in the order of an answer. */
  count({ site_id, from, to, by }: StatsQuery) {
    const chosen = this.records.filter(
      ({ site, day }) =>
        (site_id === undefined || site === site_id) &&
        (from === undefined || day >= from) &&
        (to === undefined || day <= to),
    )
    const groups = new Map<string, { site: string; value: string; records: Stated[] }>()
    for (const record of chosen)
      for (const { site, value } of groupsOf(record, by)) {
        const key = `${value}\n${site}`
        const group = groups.get(key) ?? { site, value, records: [] }
        groups.set(key, group)
        group.records.push(record)
      }
    const inOrder = [...groups.values()].sort(
      (one, other) => compare(one.value, other.value) || compare(one.site, other.site),
    )
    return {
      total: numbersOf(chosen),
      groups: inOrder.map(({ site, value, records }) => ({
        group: by === 'site' ? site : value === '' && by === 'country' ? null : value,
        site_id: by === 'site' || by === 'policy' ? site : null,
        ...(by === 'preference' ? preferenceNumbers(records, value) : numbersOf(records)),
      })),
    }
  }
}

function compare(one: string, other: string): number {
  return Buffer.compare(Buffer.from(one), Buffer.from(other))
}

function groupsOf(record: Stated, by: StatsQuery['by']) {
  const { day, site, policy, country } = record
  const value = (text: string, own = '') => [{ value: text, site: own }]
  if (by === undefined) return []
  if (by === 'day') return value(day)
  if (by === 'week') return value(mondayOf(day))
  if (by === 'month') return value(day.slice(0, 7))
  if (by === 'site') return value('', site)
  if (by === 'policy') return value(String(policy), site)
  if (by === 'country') return value(country ?? '')
  return consentOf(record.answers)
    .purposes.filter(({ purpose }) => /^[^0-9+@][^@]{0,63}$/u.test(purpose))
    .flatMap(({ purpose }) => value(purpose))
}

function mondayOf(day: string): string {
  const at = Date.parse(day)
  return new Date(at - ((new Date(at).getUTCDay() + 6) % 7) * dayMs).toISOString().slice(0, 10)
}

function lastOf({ answers }: Stated): Record<string, unknown> {
  return answers.at(-1)?.preferences ?? {}
}

function stateOf({ answers, named }: Stated) {
  return consentOf(answers, named).events.at(-1)?.state
}

function isGiven(record: Stated): boolean {
  return ['given', 'partly'].includes(stateOf(record) ?? '')
}

function numbersOf(records: readonly Stated[]) {
  const number = (isOne: (record: Stated) => boolean) => records.filter(isOne).length
  return {
    records: records.length,
    persons: new Set(records.flatMap(({ subject }) => subject ?? [])).size,
    anonymous: number(({ subject }) => subject === null),
    accepted: number(isGiven),
    refused: number(record => !isGiven(record)),
    withdrawn: number(record => stateOf(record) === 'withdrawn'),
    deleted: number(({ isDeleted }) => isDeleted),
    hidden: null,
    imported: number(({ isImported }) => isImported),
  }
}

function preferenceNumbers(records: readonly Stated[], key: string) {
  const states = records.map(({ answers }) => consentOf(answers).purposes.find(({ purpose }) => purpose === key)?.state)
  const number = (...wanted: string[]) => states.filter(state => wanted.includes(state ?? '')).length
  return {
    ...numbersOf(records),
    ...{ persons: null, anonymous: null },
    ...{ accepted: number('given'), refused: number('refused', 'withdrawn'), withdrawn: number('withdrawn') },
  }
}
