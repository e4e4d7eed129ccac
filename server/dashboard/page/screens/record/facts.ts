import { ApiError } from '../../../../../src/client/errors.ts'
import { api } from '../../../../../src/contract/api.ts'
import type { CheckAnswer } from '../../../../../src/contract/check.ts'
import type { Consent, History } from '../../../../../src/contract/consents.ts'
import type { Notice } from '../../../../../src/contract/notices.ts'
import { client } from '../../session.ts'

export interface Facts {
  readonly record: Consent
  readonly history: History
  /** The notice that the service held when it wrote the record; null if there was none or it cannot be read. */
  readonly notice: Notice | null
  /** The person's record that counts now, and its end. Null if deleted, refused, or without a subject, a site or a preference. */
  readonly check: CheckAnswer | null
}

/** Reads a record even if it is deleted. @throws CallError */
export async function readFacts(id: string): Promise<Facts> {
  const [record, history] = await Promise.all([
    client.call(api.consents.get, { params: { id }, query: { include_deleted: true } }),
    client.call(api.consents.history, { params: { id }, query: { details: true } }),
  ])
  const [notice, check] = await Promise.all([readNotice(record, history), readCheck(record)])
  return { record, history, notice, check }
}

async function readNotice({ site_id, policy_version }: Consent, { notice_entry }: History): Promise<Notice | null> {
  if (notice_entry === null || notice_entry === undefined || site_id === null || policy_version === null) return null
  return await orNull(client.call(api.notices.get, { params: { id: site_id, version: String(policy_version) } }))
}

async function readCheck({ site_id, subject_id, accepted, deleted_at, preferences }: Consent) {
  const [purpose] = Object.keys(preferences ?? {})
  if (!accepted || deleted_at !== null || subject_id === null || site_id === null || !purpose) return null
  return await orNull(client.call(api.subjects.check, { query: { subject_id, site_id, purpose } }))
}

/** Returns null for API errors but 401, because the rest of the record is still worth showing. */
async function orNull<T>(call: Promise<T>): Promise<T | null> {
  try {
    return await call
  } catch (error) {
    if (error instanceof ApiError && error.status !== 401) return null
    throw error
  }
}
