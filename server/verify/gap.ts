import type { Sql } from 'postgres'
import type { DatabaseFinding } from '../../src/contract/index.ts'
import { listPlaceless } from './queries.ts'
import { reading } from './records.ts'
import type { LeafRow } from './rows.ts'

/** Places of a log that no leaf has, and the leaves beside them, where these were taken together with what is missing. */
export interface Gap {
  readonly from: number
  /** The first place behind it. */
  readonly to: number
  readonly above: LeafRow | undefined
  readonly below: LeafRow | undefined
  /** When the checkpoint was made that covers it: what is younger waits for its place as it should. */
  readonly until: Date
}

/** The widest gap of which it is looked whether its entries are there, without their places. */
const widest = 100

/**
 * What a gap says: which entries lost their places, where the log has no more of them than are missing in the order
 * between its neighbours; and that others are gone, beside which they were.
 */
export async function findingsOfGap(sql: Sql, accountId: string, gap: Gap): Promise<DatabaseFinding[]> {
  const { from, to } = gap
  const width = to - from
  const placeless = width > widest ? [] : await reading(() => listPlaceless(sql, accountId, gap, width + 1))
  const known = placeless.length > width ? [] : placeless
  const places = width === 1 ? `leaf ${from}` : `leaves ${from} to ${to - 1}`
  const findings = known.map(({ consent_id, version }): DatabaseFinding => {
    const detail = `its place in the log was taken from it: ${places}`
    return { account_id: accountId, consent_id, version, problem: 'changed', detail }
  })
  if (known.length === width) return findings
  const beside = [named('behind', gap.above), named('before', gap.below)].filter(Boolean).join(', ')
  const detail = `${places} of the log ${width === 1 ? 'is' : 'are'} missing${beside && `: ${beside}`}`
  return [...findings, { account_id: accountId, consent_id: null, version: null, problem: 'lost', detail }]
}

function named(where: string, leaf: LeafRow | undefined): string {
  return leaf ? `${where} version ${leaf.version} of ${leaf.consent_id}` : ''
}
