import { describe, expect, it } from 'vitest'
import { dbErrorClass, dbErrorCode, dbErrorKind, type RetryOptions, withRetry } from '../../../server/db/errors.ts'

const usual: RetryOptions = { isIdempotent: true, budgetMs: 5000, onRetry: () => {} }

/** Fails with each code in turn, then resolves. */
function failing(...codes: string[]) {
  let tries = 0
  const work = async () => {
    const code = codes[tries]
    tries += 1
    if (code) throw Object.assign(new Error(code), { code })
    return 'done'
  }
  return { work, tries: () => tries }
}

describe('withRetry', () => {
  it('runs the callback once when it succeeds', async () => {
    const { work, tries } = failing()
    expect(await withRetry(work, usual)).toBe('done')
    expect(tries()).toBe(1)
  })

  it('reports the code of each retried error', async () => {
    const codes: string[] = []
    await withRetry(failing('40001', '40P01', '40001').work, { ...usual, onRetry: code => codes.push(code) })
    expect(codes).toEqual(['40001', '40P01', '40001'])
  })

  it('when a retry after a lost connection fails, throws the first error', async () => {
    await expect(withRetry(failing('ECONNRESET', '22003').work, usual)).rejects.toThrow('ECONNRESET')
    await expect(withRetry(failing('40001', 'EPIPE', '40001').work, usual)).rejects.toThrow('EPIPE')
  })

  it('when the retry budget is used up, does not retry', async () => {
    const { work, tries } = failing('40001', '40001')
    await expect(withRetry(work, { ...usual, budgetMs: 0 })).rejects.toThrow('40001')
    expect(tries()).toBe(1)
  })

  it('after a lost connection, does not retry a callback that is not idempotent', async () => {
    const { work, tries } = failing('CONNECTION_CLOSED')
    await expect(withRetry(work, { ...usual, isIdempotent: false })).rejects.toThrow('CONNECTION_CLOSED')
    expect(tries()).toBe(1)
  })
})

describe('dbErrorKind, dbErrorCode, dbErrorClass', () => {
  it.each([
    ['CONNECTION_CLOSED', 'lost', 'connection'],
    ['CONNECTION_DESTROYED', 'unavailable', 'connection'],
    ['CONNECT_TIMEOUT', 'unavailable', 'connection'],
    ['ECONNREFUSED', 'unavailable', 'connection'],
    ['EPIPE', 'lost', 'connection'], // five capital letters, and yet no SQLSTATE
    ['CERT_HAS_EXPIRED', 'unavailable', 'connection'],
    ['ERR_TLS_CERT_ALTNAME_INVALID', 'unavailable', 'connection'],
    ['DEPTH_ZERO_SELF_SIGNED_CERT', 'unavailable', 'connection'],
    ['08P01', 'unavailable', '08'],
    ['40001', 'aborted', '40'],
    ['22P05', null, '22'],
    ['42P01', null, '42'],
    ['XX000', null, 'XX'],
  ])('return the kind and class of the code %s', (code, trouble, itsClass) => {
    const error = Object.assign(new Error('x'), { code })
    expect([dbErrorKind(error), dbErrorCode(error), dbErrorClass(code)]).toEqual([trouble, code, itsClass])
  })

  it.each([
    'server closed the connection unexpectedly\n\tThis probably means the server terminated abnormally',
    'could not receive data from server: Connection reset by peer',
    'SSL connection has been closed unexpectedly',
    'connection not open',
    'no connection to the server',
    'connection to the remote node app@db-2:5432 failed',
    'postmaster was shut down, exiting',
    '',
  ])('recognizes a lost connection of a Citus worker by the message: %j', message => {
    const where = 'while executing command on db-2:5432'
    const error = Object.assign(new Error(message), { code: 'XX000', where })
    expect([dbErrorKind(error), dbErrorCode(error)]).toEqual(['lost', 'CONNECTION_CLOSED'])
  })

  it.each(['FATAL', 'PANIC'])('recognizes a lost connection by an internal error of severity %s', severity => {
    const error = Object.assign(new Error('could not write init file'), { code: 'XX000', severity })
    expect([dbErrorKind(error), dbErrorCode(error)]).toEqual(['lost', 'CONNECTION_CLOSED'])
  })

  it.each([
    ['XX000', 'cache lookup failed for relation 16384', 'while executing command on db-2:5432'],
    ['XX000', 'unexpected state: server closed the connection', 'while executing command on db-2:5432'],
    ['XX000', '', 'PL/pgSQL function f() line 1 at RAISE'],
    ['42P01', 'connection not open', 'while executing command on db-2:5432'],
  ])('do not treat a bug as a lost connection: %s %j', (code, message, where) => {
    const error = Object.assign(new Error(message), { code, where })
    expect([dbErrorKind(error), dbErrorCode(error)]).toEqual([null, code])
  })

  it.each([
    [new Error('x')],
    [Object.assign(new Error('x'), { code: 'ERR_INVALID_ARG_TYPE' })],
    [Object.assign(new Error('x'), { code: 'FST_ERR_REP_ALREADY_SENT' })],
    [Object.assign(new Error('x'), { code: 40001 })],
    [Object.assign(new Error('x'), { code: 'maria@example.com' })],
    ['40001'],
    [null],
    [undefined],
  ])('return null for an error that does not come from the database: %s', error => {
    expect([dbErrorKind(error), dbErrorCode(error)]).toEqual([null, null])
  })
})
