import { api } from '../../../../../src/contract/api.ts'
import type { Consent, DataSubjectRequest } from '../../../../../src/contract/index.ts'
import { exportTexts } from '../../../../../src/erasure/export-text.ts'
import { findNearMatches, type NearMatch } from '../../../../../src/erasure/near.ts'
import { recordsOf } from '../../../../../src/erasure/records.ts'
import { client } from '../../session.ts'
import { baseUrl } from '../../transport.ts'

/** All data that the account holds on a person. Purged records are missing, because they name no person. */
export interface Held {
  /** Live and deleted. */
  readonly records: readonly Consent[]
  readonly near: readonly NearMatch[]
  /** Open requests of the register. */
  readonly requests: readonly DataSubjectRequest[]
}

/** `onCount` gets the number of records read so far. @throws CallError, CliError */
export async function readHeld(subjects: readonly string[], onCount: (count: number) => void): Promise<Held> {
  const near = (await findNearMatches(client, subjects)) ?? []
  const requests = new Map<string, DataSubjectRequest>()
  for (const subject_id of subjects) {
    const { data } = await client.call(api.requests.list, { query: { subject_id, state: 'open', limit: 100 } })
    for (const request of data) requests.set(request.id, request)
  }
  const records: Consent[] = []
  for await (const page of recordsOf(client, subjects, { deleted: true })) {
    records.push(...page)
    onCount(records.length)
  }
  return { records, near, requests: [...requests.values()] }
}

/** Reads all records again, with their histories. Returns the text that `subject export` writes. */
export async function readExport(subjects: readonly string[], onCount: (count: number) => void): Promise<string> {
  const head = { instance: baseUrl, subjects }
  const texts: string[] = []
  let count = 0
  const pages = recordsOf(client, subjects, { deleted: true })
  for await (const { text, record } of exportTexts(client, { ...head, exported_at: new Date().toISOString() }, pages)) {
    texts.push(text)
    if (!record) continue
    count += 1
    onCount(count)
  }
  return texts.join('')
}
