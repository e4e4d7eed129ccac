import { afterAll, beforeAll, expect } from 'vitest'
import type { ErrorCode } from '../../../src/contract/index.ts'
import type { ServiceResponse, TestService } from '../../support/service.ts'

/** The statuses of each error code. */
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
  read_only: [503],
}

/** Expects a 4xx with exactly a code that fits the status and a message. */
export function expectClientError(answer: Pick<ServiceResponse, 'status' | 'text'> | undefined, status?: number): void {
  const { error, message, ...more } = JSON.parse(answer?.text ?? '')
  expect(more).toEqual({})
  expect(message).toEqual(expect.stringMatching(/\S/))
  expect(statuses[error as ErrorCode], answer?.text).toContain(answer?.status)
  expect(answer?.status).toBeLessThan(500)
  if (status !== undefined) expect(answer?.status, answer?.text).toBe(status)
}

export interface RecordCount {
  /** Counts a record for a 201, unless it is a replay. */
  add(answer: Pick<ServiceResponse, 'status' | 'headers'> | undefined): void
}

/** Expects after all tests that the service responds, has one more record for each 201, and the whole history of every record. */
export function useRecordCount(service: TestService): RecordCount {
  let expected = { records: 0, incomplete: 0 }
  const readCounts = async () => {
    const [row] = await service.sql<{ records: number; incomplete: number }[]>`
      select count(*)::integer as records, count(*) filter (where version <> entries)::integer as incomplete
      from consents c, lateral (select count(*) as entries from consent_history h
        where h.account_id = c.account_id and h.consent_id = c.id) h`
    return row ?? expected
  }
  beforeAll(async () => {
    const { records, incomplete } = await readCounts()
    expected = { records: expected.records + records, incomplete }
  })
  afterAll(async () => {
    expect((await service.call('GET', '/ready')).status).toBe(200)
    expect(await readCounts()).toEqual(expected)
  })
  return {
    add: answer => {
      if (answer?.status === 201 && !answer.headers['idempotent-replayed']) expected.records += 1
    },
  }
}
