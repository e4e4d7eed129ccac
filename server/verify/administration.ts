// Replaying an account's entries must give the stored settings.

import type { Sql } from 'postgres'
import { parseExactJson } from '../../src/contract/exact-json.ts'
import type { DatabaseFinding, Problem } from '../../src/contract/index.ts'
import { sha256 } from '../../src/evidence/bytes.ts'
import { type EntryRow, findHead, listEntries, listSettings } from './administration-queries.ts'
import { reading, type Work } from './records.ts'
import { Replay } from './replay.ts'

const log = 'the administrators’ log'

/** Reads one snapshot. Memory grows with the settings only. */
export async function* verifyAdministration(work: Work, accountId: string): AsyncGenerator<readonly DatabaseFinding[]> {
  const findings = await reading(() =>
    work.sql.begin(async tx => {
      await tx`set transaction isolation level repeatable read, read only`
      return await new Verifier({ ...work, sql: tx as unknown as Sql }, accountId).verify()
    }),
  )
  if (findings.length > 0) yield findings
}

interface Entry {
  readonly type: unknown
  readonly version: unknown
  readonly account_id: unknown
  readonly previous: unknown
  readonly at: unknown
}

class Verifier {
  readonly #work: Work
  readonly #accountId: string
  readonly #findings: DatabaseFinding[] = []
  readonly #replay = new Replay()
  #last = 0
  /** In hexadecimal; null before the first entry. */
  #head: string | null = null

  constructor(work: Work, accountId: string) {
    this.#work = work
    this.#accountId = accountId
  }

  async verify(): Promise<DatabaseFinding[]> {
    for await (const row of listEntries(this.#work.sql, this.#accountId)) {
      this.#work.signal.throwIfAborted()
      this.#work.inspected.administration += 1
      this.#verifyEntry(row)
    }
    if (!(await this.#verifyHead())) return this.#findings
    for await (const { name, state } of listSettings(this.#work.sql, this.#accountId)) {
      this.#work.signal.throwIfAborted()
      const found = this.#replay.compare(name, tryParse(state))
      if (found) this.#found(null, found.problem, found.detail)
    }
    for (const name of this.#replay.remaining()) this.#found(null, 'lost', `the ${name} is missing`)
    return this.#findings
  }

  #verifyEntry(row: EntryRow): void {
    const { version, document, logged } = row
    const next = this.#last + 1
    if (version > next) {
      const missing = next === version - 1 ? `entry ${next}` : `entries ${next} to ${version - 1}`
      this.#found(null, 'lost', `${log} lacks ${missing}`)
    }
    const entry = document === null ? null : (tryParse(document) as Entry | null)
    const hash = document === null ? null : sha256(document).toString('hex')
    const found = this.#findProblem(row, { entry, hash, isNext: version === next })
    if (found) this.#found(version, found[0], `entry ${version} of ${log} ${found[1]}`)
    const contradiction = entry && this.#replay.apply(entry, version)
    if (contradiction) this.#found(version, 'changed', `entry ${version} of ${log} ${contradiction}`)
    this.#last = version
    this.#head = logged ?? hash
  }

  #findProblem(
    { version, created_at, logged }: EntryRow,
    { entry, hash, isNext }: { readonly entry: Entry | null; readonly hash: string | null; readonly isNext: boolean },
  ): readonly [Problem, string] | null {
    if (hash === null) return ['lost', 'is missing']
    if (logged === null) return ['forged', 'is not in the account’s log']
    if (logged !== hash) return ['changed', 'has another hash in the account’s log']
    if (entry?.type !== 'account_entry') return ['changed', 'is not an account entry']
    if (entry.version !== version || entry.account_id !== this.#accountId)
      return ['reordered', 'has another version or account']
    if (isNext && entry.previous !== this.#head) return ['reordered', 'does not follow the entry before it']
    return entry.at === created_at ? null : ['changed', 'has another time than its column']
  }

  async #verifyHead(): Promise<boolean> {
    const head = await findHead(this.#work.sql, this.#accountId)
    const [entries, last] = [head?.entries ?? 0, this.#last]
    if (!head && last > 0) this.#found(null, 'lost', 'the account is missing')
    else if (head && last === 0) this.#found(null, 'forged', `${log} does not have the account`)
    else if (entries > last) this.#found(null, 'shortened', `${log} has ${last} entries; the account counts ${entries}`)
    else if (head && (entries < last || head.hash !== this.#head))
      this.#found(null, 'changed', `the account’s head is not the last entry of ${log}`)
    return head !== undefined && last > 0
  }

  #found(version: number | null, problem: Problem, detail: string): void {
    this.#findings.push({ account_id: this.#accountId, consent_id: null, version, problem, detail })
  }
}

function tryParse(text: string): object | null {
  try {
    const value = parseExactJson(text)
    return typeof value === 'object' ? value : null
  } catch {
    return null
  }
}
