import type { CheckAnswer } from '../contract/check.ts'
import { parseInstant } from '../contract/instant.ts'
import { toneOf, type View } from '../output/index.ts'
import { field, minute } from './field.ts'

export const checkView: View<CheckAnswer> = {
  id: row => row.record?.id ?? '',
  columns: [
    field('allowed', {
      tone: ({ allowed }) => toneOf(allowed === true ? 'accepted' : allowed === false ? 'refused' : ''),
    }),
    field('reason', { whole: true }),
    field('subject_id'),
    field('purpose'),
    field('site_id', { whole: true }),
    field('at', { whole: true }),
    field('record'),
    field('notice'),
    field('expires_at', { whole: true }),
    field('sealed'),
    field('renewal'),
    field('origin'),
    field('given_at', { whole: true }),
    field('witnessed'),
  ],
}

interface Question {
  /** Imported answers do not count. */
  readonly onlyWitnessed: boolean
}

/** Such as `no: maria@example.com has withdrawn marketing (…)`. */
export function describeCheck(answer: CheckAnswer, question: Question): string {
  const { allowed } = answer
  const word = allowed === null ? 'unknown' : allowed ? 'yes' : 'no'
  const facts = factsOf(answer)
  return `${word}: ${verdictOf(answer, question)}${facts.length > 0 ? ` (${facts.join('; ')})` : ''}`
}

function verdictOf(answer: CheckAnswer, { onlyWitnessed }: Question): string {
  const { reason, subject_id: who, purpose, expires_at, renewal, record } = answer
  const where = answer.site_id === null ? '' : ' on this site'
  const although = record?.answer === true ? `, although the record has true for ${purpose}` : ''
  const verdicts: Readonly<Record<string, string>> = {
    consented: `${who} consents to ${purpose}`,
    no_record: onlyWitnessed
      ? `no answer of ${who}${where} was witnessed here: imported ones do not count`
      : `there is no record of ${who}${where}`,
    purpose_not_answered: onlyWitnessed
      ? `no answer of ${who} for ${purpose} was witnessed here: imported ones do not count`
      : `${who} has not answered for ${purpose}`,
    refused: `${who} has refused ${although ? `as a whole${although}` : purpose}`,
    withdrawn: `${who} has withdrawn ${although ? `the consent${although}` : purpose}`,
    purpose_not_in_notice: `the notice that ${who} accepted does not name ${purpose}`,
    expired: `the consent of ${who} to ${purpose} expired at ${minute(expires_at)}`,
    renewal_required: `${who} consented to ${purpose}, and notice ${renewal?.policy_version} requires a renewal`,
  }
  return Object.hasOwn(verdicts, reason) ? (verdicts[reason] ?? reason) : reason
}

function factsOf(answer: CheckAnswer): string[] {
  const { reason, record, notice, expires_at, renewal } = answer
  if (record === null) return []
  const ends = reason === 'consented' && expires_at !== null ? [`valid until ${minute(expires_at)}`] : []
  const renews = renewal?.effective_from ?? renewal?.published_at
  const due =
    reason === 'renewal_required' && renews
      ? [`notice ${renewal?.policy_version} in effect since ${minute(renews)}`]
      : []
  return [
    `record ${record.id}, last answer ${minute(record.stated_at)}`,
    ...provenanceOf(answer),
    ...(answer.sealed ? ['from the sealed proof of a purged record'] : []),
    noticeText(record.policy_version, notice),
    ...ends,
    ...due,
  ]
}

function provenanceOf({ origin, witnessed, record, at }: CheckAnswer): string[] {
  if (origin === null || record === null) return []
  const imported = `imported ${minute(record.created_at)}`
  if (witnessed) return [`${imported} from ${origin.system} and changed here since`]
  const isBefore = (parseInstant(at) ?? 0) < (parseInstant(record.created_at) ?? 0)
  return [`as told by ${origin.system}, ${imported}${isBefore ? ', after this moment: the importer’s word alone' : ''}`]
}

function noticeText(version: number, notice: CheckAnswer['notice']): string {
  if (notice === null || typeof notice === 'string') return `policy version ${version}, notice not held`
  const { locale, languages, published_at } = notice
  const shown = locale ?? languages.join(' or ')
  return `notice ${version}${shown && ` in ${shown}`} of ${minute(published_at)}`
}
