import { expect, it } from 'vitest'
import { ApiError, NetworkError } from '../../../src/client/errors.ts'
import { CliError, Resumable } from '../../../src/errors/errors.ts'
import { explain } from '../../../src/errors/explain.ts'

const call = (method: string) => ({
  method,
  path: '/api/v1/consents',
  url: 'https://consent.example.com/api/v1/consents',
  idempotent: method !== 'POST',
  id: null,
  keySource: 'a test',
  proxy: null,
})
const caused = (code: string) => Object.assign(new Error(`it failed with ${code}`), { code })
const network = (method: string, code: string, isSent = false) =>
  explain(new NetworkError(call(method), caused(code), isSent))

it('does not blame an accepted session of a reader', () => {
  const body = { error: 'forbidden', message: 'no', reason: 'missing_role' }
  const head = { status: 403, requestId: null, retryAfter: null, location: null }
  const told = explain(new ApiError({ ...call('POST'), keySource: null }, head, body))
  expect(told).toMatchObject({
    exit: 4,
    reason: 'missing_role',
    hint: 'sign in as a user with that role: consentctl admin user list',
  })
  expect(told.why).toBeUndefined()
})

it.each([undefined, 'a_later_reason', 'toString'])(
  'a 403 of a key with the reason %s gets the general hint, with any message',
  reason => {
    const head = { status: 403, requestId: null, retryAfter: null, location: null }
    const body = { error: 'forbidden', message: 'The API key lacks the scope import; a reader', reason }
    expect(explain(new ApiError(call('POST'), head, body))).toMatchObject({
      exit: 4,
      hint: 'check the scopes of the key: consentctl keys list',
    })
  },
)

it('when a record to delete is not found, says that it may be deleted already', () => {
  const head = { status: 404, requestId: null, retryAfter: null, location: null }
  const ofRecord = (method: string) => ({ ...call(method), path: '/api/v1/consents/:id', id: crypto.randomUUID() })
  const hint = (method: string) =>
    explain(new ApiError(ofRecord(method), head, { error: 'not_found', message: 'm' })).hint
  expect(hint('DELETE')).toMatch(/--include-deleted.*; --ignore-missing skips it$/)
  expect(hint('PUT')).toMatch(/--include-deleted, or consentctl history$/)
})

it.each([
  ['ECONNREFUSED', 7, 'instance is running'],
  ['EAI_AGAIN', 7, 'host name'],
  ['ENOTFOUND', 2, 'host name'],
  ['CERT_HAS_EXPIRED', 2, 'clock'],
  ['CERT_NOT_YET_VALID', 2, 'clock'],
  ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', 2, '--ca-file'],
  ['SELF_SIGNED_CERT_IN_CHAIN', 2, '--ca-file'],
  ['ERR_TLS_CERT_ALTNAME_INVALID', 2, 'another host'],
  ['ERR_SSL_WRONG_VERSION_NUMBER', 2, 'may not speak https'],
  ['TIMEOUT', 7, '--timeout'],
  ['DEADLINE', 7, '--timeout'],
])('%s has exit code %i and its own hint', (code, exit, hint) => {
  expect(network('GET', code)).toMatchObject({ exit, hint: expect.stringContaining(hint) })
})

it('when every address of a host fails, shows the message of the first', () => {
  const cause = Object.assign(new AggregateError([caused('ECONNREFUSED'), caused('ENETUNREACH')]), {
    code: 'ECONNREFUSED',
  })
  expect(explain(new NetworkError(call('POST'), cause, false))).toMatchObject({
    exit: 7,
    message: 'no answer from consent.example.com: it failed with ECONNREFUSED',
  })
})

it('an error that stopped a list keeps its code and prints the command that continues', () => {
  const stopped = new Resumable(new CliError('x', 6, 'm', { hint: 'other' }), 'consentctl list --cursor c')
  expect(explain(stopped)).toMatchObject({ code: 'x', exit: 6, hint: 'consentctl list --cursor c' })
})

it.each([[new TypeError('x is not a function')], ['a string'], [undefined], [null]])(
  'reports anything else as a bug: %s',
  error => {
    expect(explain(error)).toMatchObject({ code: 'bug', exit: 1 })
  },
)

it.each(['MODULE_NOT_FOUND', 'ERR_MODULE_NOT_FOUND'])('a missing file of the program (%s) suggests the build', code => {
  const missing = Object.assign(new Error("Cannot find module 'x.cjs'\nRequire stack:\n- y"), { code })
  expect(explain(missing)).toMatchObject({
    exit: 1,
    why: "Cannot find module 'x.cjs'",
    hint: expect.stringContaining('npm run setup'),
  })
})
