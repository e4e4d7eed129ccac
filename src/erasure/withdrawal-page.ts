import type { WithdrawalReceipt } from '../contract/documents/withdrawal-receipt.ts'
import { markdownTable, markdownText } from '../output/markdown.ts'
import { sha256 } from '../receipts/store.ts'
import { code, makingRows, proofLines, requestRows } from './page.ts'
import type { StoredReceipt } from './receipts.ts'

export type ToldWithdrawal = Pick<
  WithdrawalReceipt,
  'result' | 'purposes' | 'site_id' | 'counts' | 'verification' | 'account_id' | 'near_matches'
>

const records = (count: number) => `${count} ${count === 1 ? 'record' : 'records'}`

interface Phrase {
  holds(receipt: ToldWithdrawal): boolean
  /** `where` is `profile@host`, or the scope. */
  text(receipt: ToldWithdrawal, where: string): string
}

/** All phrases that hold are used, in this order. `src/evidence/sentences.md` has the observation behind each. */
const phrases: readonly Phrase[] = [
  {
    holds: ({ result }) => result === 'nothing_given',
    text: ({ purposes, verification: { live } }, where) =>
      live === 0
        ? `nothing to withdraw: no live record of this person on ${where}`
        : `nothing to withdraw: none of ${records(live)} on ${where} granted ${namesOf(purposes)}`,
  },
  {
    holds: ({ counts }) => counts.withdrawn > 0,
    text: ({ purposes, counts }, where) => `withdrew ${namesOf(purposes)} in ${records(counts.withdrawn)} on ${where}`,
  },
  {
    holds: ({ counts }) => counts.already_off > 0,
    text: ({ counts }) => `${records(counts.already_off)} did not grant it any more`,
  },
  { holds: ({ counts }) => counts.gone > 0, text: ({ counts }) => `${records(counts.gone)} deleted meanwhile` },
  {
    holds: ({ counts }) => counts.unknown > 0,
    text: ({ counts }) => `${records(counts.unknown)} do not grant it any more, not known by whose change`,
  },
  {
    holds: ({ verification }) => verification.remaining.length > 0,
    text: ({ verification }) =>
      `${records(verification.remaining.length)} granted it when it was verified: created, changed or left meanwhile`,
  },
  {
    holds: ({ verification }) => verification.not_answered > 0,
    text: ({ verification }) =>
      `${records(verification.not_answered)} accepted without an answer to it, which grants nothing and was not changed`,
  },
  {
    holds: ({ near_matches }) => (near_matches ?? 0) > 0,
    text: ({ near_matches }) =>
      `${near_matches} near ${near_matches === 1 ? 'match' : 'matches'} with records not part of this`,
  },
]

function namesOf(purposes: readonly string[]): string {
  return purposes.map(purpose => `"${purpose}"`).join(' or ')
}

/** `where`: `profile@host` on a terminal; by default the account or the site. */
export function describeWithdrawal(receipt: ToldWithdrawal, where = scopeOf(receipt)): string {
  const holding = phrases.filter(phrase => phrase.holds(receipt))
  return holding.map(phrase => phrase.text(receipt, where)).join('; ')
}

function scopeOf({ account_id, site_id }: ToldWithdrawal): string {
  if (site_id !== null) return `the site ${site_id}`
  return account_id === null ? 'the sites that the key can see' : `the sites of the account ${account_id}`
}

/** Writes GitHub's Markdown; untrusted text is escaped. */
export function formatWithdrawalPage({ receipt, bytes }: StoredReceipt<WithdrawalReceipt>): string {
  const text = describeWithdrawal(receipt)
  const { verification, number } = receipt
  const seen = `${verification.checked_at}: ${verification.live} live; ${verification.remaining.length} grant it`
  const check = `${code(`consentctl subject verify ${number} --live`)} checks the signature, the chain, and that no record of it grants a purpose of it`
  const sections = [
    `# Withdrawal record ${number}: ${markdownText(receipt.ticket)}`,
    markdownText(`${text[0]?.toUpperCase()}${text.slice(1)}.`),
    '## What was asked',
    markdownTable(
      ['', ''],
      [...requestRows(receipt), ...receipt.purposes.map(each => ['Purpose', each]), ['Site', receipt.site_id ?? 'all']],
    ),
    '## What was done',
    markdownTable(['', ''], [...makingRows(receipt), ['Verified', seen]]),
    ...(receipt.records.length > 0 ? ['## Records', recordTable(receipt)] : []),
    '## How to verify this',
    [...proofLines(receipt, sha256(bytes)), `- ${check}`].join('\n'),
  ]
  return `${sections.join('\n\n')}\n`
}

function recordTable(receipt: WithdrawalReceipt): string {
  const rows = receipt.records.map(({ id, site_id, result, purposes, before, version, changed_at, request_id }) => [
    id,
    site_id ?? '',
    result,
    purposes.join(', '),
    before === null || version === null ? '' : `${before} → ${version}`,
    changed_at ?? '',
    request_id ?? '',
  ])
  return markdownTable(['Record', 'Site', 'Result', 'Turned off', 'Version', 'Changed at', 'Request'], rows)
}

export interface GivenSeen {
  /** Ids of live records that grant a purpose of the receipt. */
  readonly given: readonly string[]
  /** Number of records of the receipt. */
  readonly records: number
  readonly isSubjectListed: boolean
  readonly account_id: string | null
}

export function describeGiven({ given, records: count, isSubjectListed, account_id }: GivenSeen): string {
  const ids = `${given.slice(0, 3).join(', ')}${given.length > 3 ? ', …' : ''}`
  if (given.length > 0) return `given again or still in ${records(given.length)}: ${ids}`
  const ofPerson = `none of the subject ${account_id === null ? 'that the key can see' : `in the account ${account_id}`}`
  const parts = [
    ...(count > 0 ? [`not given in the ${records(count)} of the receipt`] : []),
    ...(isSubjectListed ? [ofPerson] : []),
  ]
  return parts.join(', and ')
}
