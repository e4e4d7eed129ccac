// Replaying an account's entries must give the stored settings.

import type { Sql } from 'postgres'
import { parseExactJson } from '../../src/contract/exact-json.ts'
import type { Problem } from '../../src/contract/index.ts'
import { sha256 } from '../../src/evidence/bytes.ts'
import { type EntryRow, findHead, listEntries, listSettings } from './administration-queries.ts'
import { Replay } from './replay.ts'
import { attempt, type Found, reading, type Work } from './work.ts'

const log = 'the administrators’ log'

/** Reads one snapshot. Memory grows with the settings only. */
export async function* verifyAdministration(work: Work, accountId: string): AsyncGenerator<readonly Found[]> {
  yield await reading(() =>
    work.sql.begin(async tx => {
      await tx`set transaction isolation level repeatable read, read only`
      return await new Verifier({ ...work, sql: tx as unknown as Sql }, accountId).verify()
    }),
  )
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
  readonly #findings: Found[] = []
  readonly #replay = new Replay()
  #last = 0
  /** In hexadecimal; null before the first entry. */
  #head: string | null = null

  constructor(work: Work, accountId: string) {
    this.#work = work
    this.#accountId = accountId
  }

  async verify(): Promise<Found[]> {
    const { sql, signal, inspected } = this.#work
    for await (const rows of listEntries(sql, this.#accountId)) {
      signal.throwIfAborted()
      inspected.administration += rows.length
      for (const row of rows) this.#verifyEntry(row)
    }
    if (!(await this.#verifyHead())) return this.#findings
    for await (const rows of listSettings(sql, this.#accountId)) {
      signal.throwIfAborted()
      for (const { name, state } of rows) this.#findings.push(...this.#replay.compare(name, tryParse(state)))
    }
    for (const name of this.#replay.remaining()) this.#found('lost', `the ${name} is missing`)
    return this.#findings
  }

  #verifyEntry(row: EntryRow): void {
    const { version, document, logged } = row
    const next = this.#last + 1
    if (version > next) {
      const missing = next === version - 1 ? `entry ${next}` : `entries ${next} to ${version - 1}`
      this.#found('lost', `${log} lacks ${missing}`)
    }
    const entry = document === null ? null : (tryParse(document) as Entry | null)
    const hash = document === null ? null : sha256(document).toString('hex')
    const found = this.#findProblem(row, { entry, hash, isNext: version === next })
    if (found) this.#found(found[0], `entry ${version} of ${log} ${found[1]}`, version)
    const contradiction = entry && this.#replay.apply(entry, version)
    if (contradiction) this.#found('changed', `entry ${version} of ${log} ${contradiction}`, version)
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
    if (!head && last > 0) this.#found('lost', 'the account is missing')
    else if (head && last === 0) this.#found('forged', `${log} does not have the account`)
    else if (entries > last) this.#found('shortened', `${log} has ${last} entries; the account counts ${entries}`)
    else if (head && (entries < last || head.hash !== this.#head))
      this.#found('changed', `the account’s head is not the last entry of ${log}`)
    return head !== undefined && last > 0
  }

  #found(problem: Problem, detail: string, version: number | null = null): void {
    this.#findings.push({ version, problem, detail })
  }
}

function tryParse(text: string): object | null {
  const value = attempt(() => parseExactJson(text))
  return typeof value === 'object' ? value : null
}
