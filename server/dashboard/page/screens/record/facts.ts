import { ApiError } from '../../../../../src/client/errors.ts'
import { api } from '../../../../../src/contract/api.ts'
import type { CheckAnswer } from '../../../../../src/contract/check.ts'
import type { Consent, History } from '../../../../../src/contract/consents.ts'
import type { Notice } from '../../../../../src/contract/notices.ts'
import { type Consent as Answers, consentOf } from '../../../../../src/evidence/state.ts'
import { Mistake } from '../../parts/problem.tsx'
import { client } from '../../session.ts'

export interface Facts {
  readonly record: Consent
  readonly history: History
  readonly purgedAt: string | undefined
  /** Null of a purged record, whose history has no preferences any more, and if its notice cannot be read. */
  readonly answers: Answers | null
  /** Held when the record was written; null if none or unreadable. */
  readonly notice: Notice | null
  /** The person's currently deciding record, and its expiry. Null if deleted, refused, or without a subject, a site or a preference. */
  readonly check: CheckAnswer | null
}

/** Reads a record even if it is deleted. @throws CallError, Mistake if there is none */
export async function readFacts(id: string): Promise<Facts> {
  const [record, history] = await Promise.all([
    orNull(client.call(api.consents.get, { params: { id }, query: { include_deleted: true } }), isMissing),
    orNull(client.call(api.consents.history, { params: { id }, query: { details: true } }), isMissing),
  ])
  if (!record || !history) throw new Mistake(`This account has no record with the id ${id}. ${missingAdvice}`)
  const [notice, check] = await Promise.all([readNotice(record, history), readCheck(record)])
  const purgedAt = history.data.find(({ action }) => action === 'purged')?.created_at
  const isUnknown = purgedAt !== undefined || (Boolean(history.notice_entry) && notice === null)
  const answers = isUnknown
    ? null
    : consentOf(
        history.data,
        notice?.purposes.map(({ key }) => key),
      )
  return { record, history, purgedAt, answers, notice, check }
}

const missingAdvice = 'Deleted and purged records are found here, too: look if the address is complete.'

async function readNotice({ site_id, policy_version }: Consent, { notice_entry }: History): Promise<Notice | null> {
  if (notice_entry === null || notice_entry === undefined || site_id === null || policy_version === null) return null
  return await orNull(client.call(api.notices.get, { params: { id: site_id, version: String(policy_version) } }))
}

async function readCheck({ site_id, subject_id, accepted, deleted_at, preferences }: Consent) {
  const [purpose] = Object.keys(preferences ?? {})
  if (!accepted || deleted_at !== null || subject_id === null || site_id === null || !purpose) return null
  return await orNull(client.call(api.subjects.check, { query: { subject_id, site_id, purpose } }))
}

const isMissing = (status: number) => status === 404

/** Returns null for some errors: by default all but 401, because the rest of the record is still worth showing. */
async function orNull<T>(call: Promise<T>, isChosen = (status: number) => status !== 401): Promise<T | null> {
  try {
    return await call
  } catch (error) {
    if (error instanceof ApiError && isChosen(error.status)) return null
    throw error
  }
}
