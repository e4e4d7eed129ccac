import { afterAll, beforeAll, expect } from 'vitest'
import type { ErrorCode } from '../../../src/contract/index.ts'
import type { Answer, TestService } from '../../support/service.ts'

/** The statuses that each error code may come with: the one table of errors, as its clients see it. */
const statuses: Readonly<Record<ErrorCode, readonly number[]>> = {
  invalid_request: [400, 405, 408, 414, 415, 417, 431],
  unauthorized: [401],
  forbidden: [403],
  not_found: [404],
  conflict: [409],
  payload_too_large: [413],
  quota_exceeded: [429],
  rate_limited: [429],
  internal_error: [500],
  unavailable: [503],
}

/** Expects a refusal that is the client's fault: 4xx, exactly a code and a message, the two fitting together. */
export function expectClientError(
  answer: Pick<Answer, 'status' | 'text'> | undefined,
  status?: number,
): void {
  const { error, message, ...more } = JSON.parse(answer?.text ?? '')
  expect(more).toEqual({})
  expect(message).toEqual(expect.stringMatching(/\S/))
  expect(statuses[error as ErrorCode], answer?.text).toContain(answer?.status)
  expect(answer?.status).toBeLessThan(500)
  if (status !== undefined) expect(answer?.status, answer?.text).toBe(status)
}

export interface Ledger {
  /** Counts a record for a 201 that is no replay, and for any other answer none. */
  note(answer: Pick<Answer, 'status' | 'headers'> | undefined): void
}

/**
 * Keeps the books of a table of requests: after the table the service still answers, it holds one record more for each
 * 201 and none for anything else, and every record has its whole history.
 */
export function useLedger(service: TestService): Ledger {
  let expected = { records: 0, incomplete: 0 }
  const books = async () => {
    const [row] = await service.sql<{ records: number; incomplete: number }[]>`
      select count(*)::integer as records, count(*) filter (where version <> entries)::integer as incomplete
      from consents c, lateral (select count(*) as entries from consent_history h
        where h.account_id = c.account_id and h.consent_id = c.id) h`
    return row ?? expected
  }
  beforeAll(async () => {
    const { records, incomplete } = await books()
    expected = { records: expected.records + records, incomplete }
  })
  afterAll(async () => {
    expect((await service.call('GET', '/ready')).status).toBe(200)
    expect(await books()).toEqual(expected)
  })
  return {
    note: answer => {
      if (answer?.status === 201 && !answer.headers['idempotent-replayed']) expected.records += 1
    },
  }
}
