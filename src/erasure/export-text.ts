import type { Client } from '../client/client.ts'
import { consents } from '../contract/consents.ts'
import type { Consent } from '../contract/index.ts'
import { type SealedProofs, subjects as subjectEndpoints } from '../contract/subjects.ts'
import { findSealedProofs } from './records.ts'

export interface ExportHead {
  readonly instance: string
  readonly exported_at: string
  readonly subjects: readonly string[]
}

export interface ExportText {
  readonly text: string
  /** Null for the start and end of the document. */
  readonly record: { readonly site_id: string | null; readonly entries: number } | null
}

/** With their answers; null if the service keeps none. */
async function readProofs(
  api: Pick<Client, 'call' | 'supports'>,
  subjects: readonly string[],
): Promise<SealedProofs['data'] | null> {
  const found = await findSealedProofs(api, subjects)
  if (!found) return null
  const proofs: SealedProofs['data'] = []
  for (const { subject_id, record_id } of found) {
    const body = { subject_id, record_id }
    proofs.push(...(await api.call(subjectEndpoints.sealed, { body, isIdempotent: true })).data)
  }
  return proofs
}

/** Yields one JSON document in pieces. */
export async function* exportTexts(
  api: Pick<Client, 'call' | 'consents' | 'supports'>,
  { instance, exported_at, subjects }: ExportHead,
  pages: AsyncIterable<readonly Consent[]>,
): AsyncGenerator<ExportText> {
  const sealed_proofs = await readProofs(api, subjects)
  const head = { type: 'subject_export', version: 1, instance, exported_at, subjects, sealed_proofs }
  yield { text: `${JSON.stringify(head).slice(0, -1)},"records":[`, record: null }
  // GDPR Art. 15 also covers the address and the authors of changes.
  const hasDetails = await api.supports(consents.history, { in: 'query', name: 'details' })
  const query = hasDetails ? { details: true } : {}
  let isFirst = true
  for await (const page of pages) {
    for (const record of page) {
      const { data: history, ...details } = await api.consents.history({ params: { id: record.id }, query })
      const text = `${isFirst ? '' : ','}\n${JSON.stringify({ ...record, ...details, history })}`
      isFirst = false
      yield { text, record: { site_id: record.site_id, entries: history.length } }
    }
  }
  yield { text: '\n]}\n', record: null }
}
