import type { Client } from '../client/client.ts'
import { consents } from '../contract/consents.ts'
import type { Consent } from '../contract/index.ts'

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

/** Yields one JSON document in pieces. */
export async function* exportTexts(
  api: Pick<Client, 'consents' | 'supports'>,
  { instance, exported_at, subjects }: ExportHead,
  pages: AsyncIterable<readonly Consent[]>,
): AsyncGenerator<ExportText> {
  const head = { type: 'subject_export', version: 1, instance, exported_at, subjects }
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
