import type * as z from 'zod'
import { type Consent, ConsentDraft, canonicalLanguage, consents } from '../../../src/contract/index.ts'
import type { ServiceResponse } from '../../support/service.ts'
import { expectKept, type Owner } from '../consents/records.ts'

/** The types that an odd value of `odd-values.ts` could pass for. */
export type Kind = 'text' | 'long text' | 'object' | 'boolean' | 'integer'

/** An endpoint with a body, for one owner. */
export interface Target {
  /** Members that every valid body has. */
  readonly required: Readonly<Record<string, unknown>>
  send(body: unknown, headers?: Record<string, string>): Promise<ServiceResponse>
  /** Expects the response, and every way to read the record, to have each sent field unchanged. */
  expectStored(answer: ServiceResponse, sent: Readonly<Record<string, unknown>>): Promise<void>
  /** Returns all that a rejected request must leave unchanged. */
  state(): Promise<unknown>
}

export interface WriteEndpoint {
  readonly name: string
  /** Its declaration in the contract: the schema of the body and the status of a success. */
  readonly endpoint: { readonly body?: z.ZodType; readonly status: number }
  /** The kinds of odd values that each field accepts; it must reject all others. */
  readonly fields: Readonly<Record<string, readonly Kind[]>>
  /** The field that accepts any JSON object. */
  readonly free?: string
  open(owner: Owner): Promise<Target>
}

/** The endpoints that the tables of bodies are for. */
export const writeEndpoints: readonly WriteEndpoint[] = [
  {
    name: 'create',
    endpoint: consents.create,
    fields: {
      site_id: [],
      consent_id: ['text'],
      subject_id: ['text'],
      accepted: ['boolean'],
      preferences: ['object'],
      policy_version: ['integer'],
      ip_address: [],
      user_agent: ['text', 'long text'],
      notice_locale: [],
      circumstances: [],
    },
    free: 'preferences',
    open: async owner => ({
      required: { site_id: owner.siteId },
      send: owner.post,
      expectStored: (answer, sent) => expectRecord(owner, answer.body, asStored(sent)),
      state: async () => null,
    }),
  },
  {
    name: 'a row of a batch',
    endpoint: { body: ConsentDraft, status: 201 },
    fields: {
      site_id: [],
      consent_id: ['text'],
      subject_id: ['text'],
      accepted: ['boolean'],
      preferences: ['object'],
      policy_version: ['integer'],
      ip_address: [],
      user_agent: ['text', 'long text'],
      notice_locale: [],
      circumstances: [],
    },
    free: 'preferences',
    open: async owner => ({
      required: { site_id: owner.siteId },
      send: async (body, headers = {}) => ofRow(await owner.send('POST', '/batch', { body: batchOf(body), headers })),
      expectStored: (answer, sent) => expectRecord(owner, answer.body, asStored(sent)),
      state: async () => null,
    }),
  },
  {
    name: 'update',
    endpoint: consents.update,
    fields: { accepted: ['boolean'], preferences: ['object'], circumstances: [] },
    free: 'preferences',
    open: async owner => {
      const { id } = await owner.create({ accepted: true, preferences: { untouched: true } })
      return {
        required: {},
        send: (body, headers) => owner.update(id, body, headers),
        expectStored: (answer, sent) => expectRecord(owner, answer.body, sent),
        state: async () => (await owner.get(id)).body,
      }
    },
  },
]

/** The address is never shown; the capitals of a UUID mean nothing, and a language is made canonical. */
function asStored({ ip_address: _, site_id = '', notice_locale, ...sent }: Readonly<Record<string, unknown>>) {
  const locale = notice_locale === undefined ? {} : { notice_locale: canonicalLanguage(String(notice_locale)) }
  return { ...sent, ...locale, site_id: String(site_id).toLowerCase() }
}

/** A batch of one row, whose body may be no JSON. */
function batchOf(body: unknown): Buffer {
  const isRaw = typeof body === 'string' || body instanceof Uint8Array
  const row = Buffer.from(isRaw ? body : JSON.stringify(body))
  return Buffer.concat([Buffer.from('{"records":['), row, Buffer.from(']}')])
}

/** Converts the response to a batch of one row to that of a single create. */
function ofRow(answer: ServiceResponse): ServiceResponse {
  const [outcome, ...more] = answer.body.results ?? []
  if (!outcome || more.length > 0) return answer
  const body = outcome.consent ?? outcome.error
  return { ...answer, status: outcome.status, body, text: JSON.stringify(body) }
}

/** Expects each sent field unchanged in the response, a read, a list and the history, which alone has circumstances. */
async function expectRecord(
  owner: Owner,
  record: Consent,
  { circumstances, ...sent }: Readonly<Record<string, unknown>>,
) {
  expectKept(record, sent)
  expectKept((await owner.get(record.id)).body, record)
  const { created_at: at } = record
  const { data } = (await owner.list({ from: at, to: at, limit: '100' })).body as { data: Consent[] }
  expectKept(
    data.find(({ id }) => id === record.id),
    record,
  )
  const { accepted, preferences, policy_version } = record
  const history = (await owner.history(record.id)).body.data
  expectKept(history.at(-1), {
    accepted,
    preferences,
    policy_version,
    ...(circumstances !== undefined && { circumstances }),
  })
}
