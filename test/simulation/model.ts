// The promises of the service's statements, without SQL: each function carries out one statement of a module of queries, atomically.

import type { BatchLink, Claim, ListFilters, NewRecord } from '../../server/consents/rows.ts'
import type { Reach } from '../../server/db/reach.ts'
import type { EventRow } from '../../server/events/queries.ts'
import type { Placed } from '../../server/evidence/queries.ts'
import type { LeaseRequest, Period, TakenLease, UsageRow } from '../../server/quota/queries.ts'
import type { Consent, FilterName } from '../../src/contract/index.ts'
import type { Link } from '../../src/evidence/chain.ts'
import { meets } from '../server/consents/population.ts'
import { current } from './scheduler.ts'

/** A record as the service answers with it. */
export interface Row {
  readonly id: string
  readonly site_id: string
  readonly consent_id: string | null
  readonly subject_id: string | null
  readonly country: string | null
  readonly region: string | null
  readonly user_agent: string | null
  readonly accepted: boolean
  readonly preferences: unknown
  readonly policy_version: number
  readonly created_at: string
  readonly updated_at: string
  readonly deleted_at: string | null
}

export interface Stored {
  readonly versions: { readonly row: Row; readonly hash: string; readonly at: number }[]
  readonly key: string | null
  /** Milliseconds since the schedule began. */
  readonly committedAt: number
}

/** Of a record's history. */
interface Entry {
  readonly id: string
  readonly version: number
}

interface Usage {
  used: number
  held: number
  held_until: Date | null
}

export class Model {
  readonly accountId: string
  readonly keyId: string
  readonly keyHash: string
  readonly monthlyQuota: number | null
  readonly sites = new Map<string, number>()
  readonly consents = new Map<string, Stored>()
  readonly keys = new Map<string, { bodyHash: Buffer; id: string; at: Date }>()
  readonly usage = new Map<string, Usage>()
  /** Entries by their positions in the log. */
  readonly leaves: Entry[] = []
  /** When the quota was last seen used up. */
  exhaustedAt = Number.NEGATIVE_INFINITY

  constructor(account: { accountId: string; keyId: string; keyHash: string; monthlyQuota: number | null }) {
    this.accountId = account.accountId
    this.keyId = account.keyId
    this.keyHash = account.keyHash
    this.monthlyQuota = account.monthlyQuota
  }

  /** Stores records from before the schedule. */
  fill(count: number, site_id: string): void {
    for (let number = 1; number <= count; number += 1) {
      const at = '2026-11-01T12:00:00.000Z'
      const id = `019a0000-0000-7000-8000-${String(number).padStart(12, '0')}`
      const identity = { id, site_id, consent_id: null, subject_id: `old ${number}` }
      const place = { country: null, region: null, user_agent: null }
      const state = { accepted: true, preferences: {}, policy_version: 1 }
      const row = { ...identity, ...place, ...state, created_at: at, updated_at: at, deleted_at: null }
      this.consents.set(id, { versions: [{ row, hash: '00'.repeat(32), at: 0 }], key: null, committedAt: 0 })
    }
  }

  latest(id: string): Row | undefined {
    return this.consents.get(id)?.versions.at(-1)?.row
  }

  /** In the order in which they are placed. */
  entries(): Entry[] {
    const ofRecord = ([id, { versions }]: [string, Stored]) => versions.map((_, index) => ({ id, version: index + 1 }))
    return [...this.consents].sort(([one], [other]) => (one < other ? -1 : 1)).flatMap(ofRecord)
  }

  // The statements. Their names and arguments are those of the modules of queries.

  findKey({ accountId, keyHash }: { accountId: string; keyHash: Buffer }) {
    if (accountId !== this.accountId || keyHash.toString('hex') !== this.keyHash) return []
    const scopes = ['read', 'write', 'erase']
    return [{ account_id: accountId, id: this.keyId, scopes, site_ids: null, expires_at: null, last_used_on: null }]
  }

  recordKeyUse(): [] {
    return []
  }

  findPolicyVersions(_account: string, siteIds: readonly string[]) {
    return siteIds.flatMap(id => {
      const policy_version = this.sites.get(id)
      return policy_version === undefined ? [] : [{ id, policy_version }]
    })
  }

  findHeld(_account: string, wanted: readonly { siteId: string; version: number }[]) {
    return wanted.flatMap(one => (this.sites.has(one.siteId) ? [{ ...one, notice: null, isStrict: false }] : []))
  }

  insertConsents(
    _account: string,
    batch: {
      rows: { record: NewRecord; isSitesPolicy: boolean; claim: Claim | null }[]
      freeBefore: Date
      view: string
    },
  ) {
    const open = batch.rows.filter(({ record, isSitesPolicy, claim }) => {
      const policy = this.sites.get(record.site_id)
      if (policy === undefined || (isSitesPolicy && policy !== record.policy_version)) return false
      const known = claim && this.keys.get(claim.key)
      return !known || known.at < batch.freeBefore
    })
    for (const { record } of open)
      if (this.consents.has(record.id)) throw Object.assign(new Error('id'), { code: '23505' })
    return open.map(({ record, claim }) => {
      const { id, at, link } = record
      current().trace(`stores ${record.subject_id}${claim ? ' by its key' : ''}`)
      if (claim) this.keys.set(claim.key, { bodyHash: claim.bodyHash, id, at })
      const row = toRow(record)
      const versions = [{ row, hash: link.hash.toString('hex'), at: current().now }]
      this.consents.set(id, { versions, key: claim?.key ?? null, committedAt: current().now })
      return { id, json: viewOf(row, batch.view) }
    })
  }

  findFirstAnswers(
    _account: string,
    keys: readonly string[],
    { freeBefore, view }: { freeBefore: Date; view: string },
  ) {
    return keys.flatMap(key => {
      const claimed = this.keys.get(key)
      const first = claimed && claimed.at >= freeBefore && this.consents.get(claimed.id)?.versions[0]
      return first ? [{ key, body_hash: claimed.bodyHash, json: viewOf(first.row, view) }] : []
    })
  }

  findConsentsJson(_reach: Reach, ids: readonly string[], includeDeleted: boolean) {
    return ids.flatMap(id => {
      const row = this.latest(id)
      return row && (includeDeleted || row.deleted_at === null) ? [{ id, json: JSON.stringify(row) }] : []
    })
  }

  findConsent(_reach: Reach, id: string) {
    const versions = this.consents.get(id)?.versions ?? []
    const last = versions.at(-1)
    if (!last || last.row.deleted_at !== null) return []
    const { accepted, preferences, policy_version, updated_at } = last.row
    const chain_head = Buffer.from(last.hash, 'hex')
    const state = { accepted, preferences, policy_version, updated_at: new Date(updated_at) }
    return [{ id, version: versions.length, chain_head, ...state, json: JSON.stringify(last.row) }]
  }

  updateConsent(
    _account: string,
    state: { accepted: boolean; preferences: unknown; deleted_at: Date | null },
    { link }: { link: BatchLink },
  ) {
    const versions = this.consents.get(link.id)?.versions ?? []
    const last = versions.at(-1)
    if (!last || versions.length !== link.version || last.row.deleted_at !== null) return []
    const row = {
      ...last.row,
      accepted: state.accepted,
      preferences: state.preferences,
      updated_at: link.at.toISOString(),
      deleted_at: state.deleted_at?.toISOString() ?? null,
    }
    versions.push({ row, hash: (link as Link).hash.toString('hex'), at: current().now })
    return [{ json: JSON.stringify(row) }]
  }

  findPage(_reach: Reach, filters: ListFilters, limit: number) {
    const { before, include_deleted: includeDeleted, ...values } = filters
    const wanted = Object.entries(values).filter(([, value]) => value !== undefined)
    const rows = [...this.consents.keys()]
      .sort()
      .reverse()
      .map(id => this.latest(id) as Row)
      .filter(row => includeDeleted || row.deleted_at === null)
      .filter(row => wanted.every(([name, value]) => meets[name as FilterName](row as Consent, String(value))))
      .filter(({ id }) => !before || id < before)
    const parts = rows.slice(0, limit + 1).map(row => JSON.stringify(row))
    return [{ parts: parts.length > 0 ? parts.join('\u001e') : null }]
  }

  placeLeaves(_account: string, after: readonly [id: string, version: number] | undefined, most: number): Placed[] {
    const isPlaced = new Set(this.leaves.map(({ id, version }) => `${id} ${version}`))
    const open = this.entries()
      .filter(({ id, version }) => !isPlaced.has(`${id} ${version}`))
      .filter(({ id, version }) => !after || id > after[0] || (id === after[0] && version > after[1]))
      .slice(0, most)
    this.leaves.push(...open)
    const last = open.at(-1)
    return [{ size: this.leaves.length, placed: open.length, last: last ? [last.id, last.version] : null }]
  }

  listEventRows(_account: string, after: number | null, limit: number): EventRow[] {
    const first = (after ?? -1) + 1
    return this.leaves.slice(first, first + limit).map(({ id, version }, index) => {
      const versions = this.consents.get(id)?.versions ?? []
      const [before, { row, hash, at }] = [
        versions[version - 2]?.row,
        versions[version - 1] as Stored['versions'][number],
      ]
      return {
        position: first + index,
        hash,
        record_id: id,
        version,
        action: before ? (row.deleted_at ? 'deleted' : 'updated') : 'created',
        erased: false,
        accepted: row.accepted,
        preferences: row.preferences as EventRow['preferences'],
        changed_by: 'api_key',
        created_at: new Date(at),
        is_stripped: false,
        accepted_before: before?.accepted ?? null,
        preferences_before: (before?.preferences as EventRow['preferences']) ?? null,
        site_id: row.site_id,
        document: null,
      }
    })
  }

  findNewestPosition() {
    return this.leaves.length > 0 ? [{ position: this.leaves.length - 1 }] : []
  }

  takeLease({ month }: Period, { wanted, needed, until, settled }: LeaseRequest): TakenLease[] {
    const { monthlyQuota: monthly_quota } = this
    const most = monthly_quota ?? Number.MAX_SAFE_INTEGER
    const known = this.usage.get(month)
    const usage = known ?? { used: 0, held: 0, held_until: null }
    const left = most - usage.used
    if (left <= 0) {
      this.exhaustedAt = current().now
      return []
    }
    const granted = Math.min(wanted, Math.max(needed, Math.floor(left / 64)), left)
    usage.used += granted
    usage.held = Math.max(0, usage.held - (known ? settled : 0)) + (granted > 1 ? granted : 0)
    usage.held_until = usage.held_until && usage.held_until > until ? usage.held_until : until
    this.usage.set(month, usage)
    if (usage.used >= most) this.exhaustedAt = current().now
    return [{ used: usage.used, granted, monthly_quota }]
  }

  settleLease({ month }: Period, { settled, unspent }: { settled: number; unspent: number }): [] {
    const usage = this.usage.get(month) ?? { used: 0, held: 0, held_until: null }
    if (this.monthlyQuota !== null && usage.used >= this.monthlyQuota) this.exhaustedAt = current().now
    usage.used = Math.max(0, usage.used - unspent)
    usage.held = Math.max(0, usage.held - settled)
    this.usage.set(month, usage)
    return []
  }

  findLimit() {
    return [{ monthly_quota: this.monthlyQuota }]
  }

  findUsage({ month }: Period): UsageRow[] {
    const { used = 0, held = 0, held_until = null } = this.usage.get(month) ?? {}
    return [{ monthly_quota: this.monthlyQuota, used, held, held_until }]
  }
}

function toRow(record: NewRecord): Row {
  const { id, at, site_id, consent_id, subject_id, country, region, user_agent } = record
  const { accepted, preferences, policy_version } = record
  const created_at = at.toISOString()
  const identity = { id, site_id, consent_id, subject_id, country, region, user_agent }
  return { ...identity, accepted, preferences, policy_version, created_at, updated_at: created_at, deleted_at: null }
}

function viewOf(row: Row, view: string): string {
  return JSON.stringify(view === 'minimal' ? { id: row.id } : row)
}
