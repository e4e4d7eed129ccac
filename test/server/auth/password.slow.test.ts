import { describe, expect, it } from 'vitest'
import { hashPassword, verifyPassword as verifyFrom } from '../../../server/auth/password.ts'
import { Failure } from '../../../server/failure.ts'
import { cheapHash, useCheapPasswords } from '../../support/service.ts'

const verifyPassword = (password: string, hash: string | null, network = '192.0.2.1') =>
  verifyFrom(password, hash, { network })

describe('password hashes › hashPassword', () => {
  it('returns a hash with which verifyPassword accepts only the password', async () => {
    const hash = await hashPassword('correct horse')
    expect(await verifyPassword('correct horse', hash)).toBe(true)
    expect(await verifyPassword('correct hors', hash)).toBe(false)
  })
})

describe('password hashes › verifyPassword', () => {
  useCheapPasswords()

  it('accepts only the password of a hash', async () => {
    const hash = cheapHash('correct horse')
    expect(await verifyPassword('correct horse', hash)).toBe(true)
    for (const other of ['', 'correct hors', 'correct horse ', 'Correct horse', hash]) {
      expect(await verifyPassword(other, hash)).toBe(false)
    }
  })

  it.each([null, '', 'none', '$scrypt$', '$scrypt$ln=4,r=1,p=1$AAAA$', '$argon2id$v=19$m=1,t=1,p=1$AAAA$AAAA'])(
    'rejects every password for the invalid hash %j',
    async hash => {
      expect(await verifyPassword('', hash)).toBe(false)
    },
  )

  it('when the hash is truncated, rejects every password', async () => {
    const whole = cheapHash('correct horse')
    expect(await verifyPassword('correct horse', whole.slice(0, -24))).toBe(false)
  })
})

describe('password hashes › concurrency', () => {
  it('serves networks in turn, even if one of them has queued many calls', async () => {
    const hash = cheapHash('correct horse')
    const order: string[] = []
    const verify = async (network: string) => {
      await verifyPassword('correct horse', hash, network)
      order.push(network)
    }
    const crowd = Array.from({ length: 15 }, () => verify('192.0.2.1'))
    await Promise.all([...crowd, verify('198.51.100.1')])
    expect(order.indexOf('198.51.100.1')).toBeLessThan(3)
  })

  it('rejects a call that has waited longer than its timeout', async () => {
    const hash = cheapHash('correct horse')
    const running = ['192.0.2.1', '192.0.2.2'].map(network => verifyPassword('correct horse', null, network))
    const late = verifyFrom('correct horse', hash, { network: '192.0.2.3', timeoutMs: 20 })
    await expect(late).rejects.toMatchObject({ message: 'Too many concurrent sign-ins: try again in a few seconds.' })
    await Promise.all(running)
  })

  it('queues a few calls and rejects further ones immediately as unavailable', async () => {
    const hash = cheapHash('correct horse')
    const outcomes = await Promise.allSettled(Array.from({ length: 40 }, () => verifyPassword('correct horse', hash)))
    const right = outcomes.filter(one => one.status === 'fulfilled' && one.value)
    const refused = outcomes.flatMap(one => (one.status === 'rejected' ? [one.reason] : []))
    expect(right.length + refused.length).toBe(40)
    expect(right.length).toBe(21)
    for (const failure of refused) {
      expect(failure).toBeInstanceOf(Failure)
      expect(failure).toMatchObject({ code: 'unavailable', headers: { 'retry-after': '1' } })
    }
    expect(await verifyPassword('correct horse', hash)).toBe(true)
  })
})
