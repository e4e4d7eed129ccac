import { describe, expect, it } from 'vitest'
import { ApiError, ContractError, NetworkError } from '../../../src/client/errors.ts'
import { backoffSeconds } from '../../../src/client/retry.ts'

const call = {
  method: 'GET',
  path: '/api/v1/consents',
  url: 'https://consent.example.com/api/v1/consents',
  idempotent: true,
  id: null,
  keySource: 'a test',
  proxy: null,
}
const head = (status: number, retryAfter: number | null = null) => ({
  status,
  retryAfter,
  requestId: null,
  location: null,
})
const api = (status: number, error: string, retryAfter: number | null = null) =>
  new ApiError(call, head(status, retryAfter), { error, message: '' })
const network = (code: string) => new NetworkError(call, { code, message: 'm' }, true)
const foreign = (status: number) => new ContractError(call, head(status), '', 'p')

describe('backoffSeconds', () => {
  it.each([
    [1, 2],
    [2, 4],
    [3, 8],
  ])('is random between 0.5 s and a bound that doubles: after attempt %i, %i s', (attempt, most) => {
    const waits = Array.from({ length: 500 }, () => backoffSeconds(network('ECONNRESET'), attempt, 60) ?? -1)
    expect(Math.min(...waits)).toBeGreaterThanOrEqual(0.5)
    expect(Math.max(...waits)).toBeLessThanOrEqual(most)
    expect(Math.max(...waits) - Math.min(...waits)).toBeGreaterThan((most - 0.5) * 0.8)
  })

  it('is never longer than --max-wait', () => {
    for (let attempt = 1; attempt < 4; attempt += 1) {
      expect(backoffSeconds(network('ECONNRESET'), attempt, 0)).toBe(0)
      expect(backoffSeconds(network('ECONNRESET'), attempt, 0.6)).toBeLessThanOrEqual(0.6)
    }
  })

  it('is at least Retry-After, or null if that exceeds --max-wait', () => {
    expect(backoffSeconds(api(503, 'unavailable', 30), 1, 60)).toBe(30)
    expect(backoffSeconds(api(429, 'rate_limited', 60), 1, 60)).toBe(60)
    expect(backoffSeconds(api(429, 'rate_limited', 61), 1, 60)).toBeNull()
    expect(backoffSeconds(api(429, 'rate_limited', 0), 1, 60)).toBeGreaterThanOrEqual(0.5)
  })
})

it.each([
  network('ECONNRESET'),
  network('ECONNREFUSED'),
  network('EAI_AGAIN'),
  network('TIMEOUT'),
  network('PROXY_502'),
  api(429, 'rate_limited'),
  api(429, 'slow_down'),
  api(500, 'internal_error'),
  api(503, 'unavailable'),
  foreign(408),
  foreign(429),
  foreign(502),
  foreign(504),
])('backoffSeconds › after %s, returns a number', error => {
  expect(backoffSeconds(error, 1, 60)).not.toBeNull()
})

it.each([
  network('interrupted'),
  network('DEADLINE'),
  network('ENOTFOUND'),
  network('CERT_HAS_EXPIRED'),
  network('DEPTH_ZERO_SELF_SIGNED_CERT'),
  network('UNABLE_TO_VERIFY_LEAF_SIGNATURE'),
  network('UNABLE_TO_GET_ISSUER_CERT_LOCALLY'),
  network('ERR_TLS_CERT_ALTNAME_INVALID'),
  network('ERR_SSL_WRONG_VERSION_NUMBER'),
  network('EPROTO'),
  network('PROXY_407'),
  network('CLOSED'),
  api(429, 'quota_exceeded'),
  api(503, 'quota_exceeded'),
  api(400, 'invalid_request'),
  api(401, 'unauthorized'),
  api(404, 'not_found'),
  api(409, 'conflict'),
  api(501, 'other'),
  foreign(200),
  foreign(302),
  foreign(404),
])('backoffSeconds › after %s, returns null', error => {
  expect(backoffSeconds(error, 1, 60)).toBeNull()
})
