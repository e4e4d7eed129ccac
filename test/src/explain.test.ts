import { describe, expect, it } from 'vitest'
import { NetworkError } from '../../src/client/errors.ts'
import { CliError, Resumable } from '../../src/errors.ts'
import { explain } from '../../src/explain.ts'

const call = (method: string) => ({
  method,
  path: '/api/v1/consents',
  url: 'https://consent.example.com/api/v1/consents',
  idempotent: method !== 'POST',
  id: null,
  keySource: 'a test',
})
const caused = (code: string) => Object.assign(new Error(`it failed with ${code}`), { code })
const network = (method: string, code: string) => explain(new NetworkError(call(method), caused(code)))

describe('a create whose connection failed', () => {
  it.each([
    'ECONNREFUSED',
    'ENOTFOUND',
    'EAI_AGAIN',
    'ENETUNREACH',
    'EHOSTUNREACH',
    'EADDRNOTAVAIL',
    'UND_ERR_CONNECT_TIMEOUT',
    'CERT_HAS_EXPIRED',
    'DEPTH_ZERO_SELF_SIGNED_CERT',
    'SELF_SIGNED_CERT_IN_CHAIN',
    'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
    'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
    'ERR_TLS_CERT_ALTNAME_INVALID',
    'ERR_SSL_WRONG_VERSION_NUMBER',
  ])('before a byte was sent (%s) can be tried again', code => {
    expect(network('POST', code)).toMatchObject({ code: 'network', exit: 7 })
  })

  it.each([
    'ECONNRESET',
    'EPIPE',
    'UND_ERR_SOCKET',
    'UND_ERR_HEADERS_TIMEOUT',
    'UND_ERR_BODY_TIMEOUT',
    'ETIMEDOUT',
    'HPE_INVALID_CONSTANT',
    'SOMETHING_NEW',
  ])(
    'perhaps after it was sent (%s) has an unknown outcome; a read and a deletion can be tried again',
    code => {
      expect(network('POST', code)).toMatchObject({
        exit: 11,
        hint: expect.stringContaining('consentctl list'),
      })
      expect(network('GET', code)).toMatchObject({ exit: 7 })
      expect(network('DELETE', code)).toMatchObject({ exit: 7 })
    },
  )
})

it.each([
  ['ECONNREFUSED', 'instance runs'],
  ['ENOTFOUND', 'host’s name'],
  ['CERT_HAS_EXPIRED', 'NODE_EXTRA_CA_CERTS'],
  ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', 'NODE_EXTRA_CA_CERTS'],
])('%s has a hint of its own', (code, hint) => {
  expect(network('GET', code).hint).toContain(hint)
})

it('takes the message of the first address where every address of a host failed', () => {
  const cause = Object.assign(new AggregateError([caused('ECONNREFUSED'), caused('ENETUNREACH')]), {
    code: 'ECONNREFUSED',
  })
  expect(explain(new NetworkError(call('POST'), cause))).toMatchObject({
    exit: 7,
    message: 'no answer from consent.example.com: it failed with ECONNREFUSED',
  })
})

it('an error that stopped a list early keeps its meaning and tells the command that goes on', () => {
  const stopped = new Resumable(new CliError('x', 6, 'm', { hint: 'other' }), 'consentctl list --cursor c')
  expect(explain(stopped)).toMatchObject({ code: 'x', exit: 6, hint: 'consentctl list --cursor c' })
})

it.each([[new TypeError('x is not a function')], ['a string'], [undefined], [null]])(
  'anything else thrown is a bug: %s',
  error => {
    expect(explain(error)).toMatchObject({ code: 'bug', exit: 1 })
  },
)
