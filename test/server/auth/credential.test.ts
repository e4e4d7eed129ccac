import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { accountOfApiKey, hashOf, newApiKey, newSiteToken } from '../../../server/auth/credential.ts'
import { newId } from '../../../server/ids.ts'
import { idOf } from '../../../src/evidence/bytes.ts'
import { useService } from '../../support/service.ts'

const base62 = [...'0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz']
const service = useService()

describe('credentials › an API key', () => {
  it('consists of sk-, 22 digits of the account, 43 of the secret and 6 of the checksum, in base62', () => {
    expect(newApiKey(newId())).toMatch(/^sk-[\dA-Za-z]{22}[\dA-Za-z]{43}[\dA-Za-z]{6}$/)
  })

  it('names its account, whichever it is', () => {
    const anyId = fc.bigInt({ min: 0n, max: 2n ** 128n - 1n }).map(n => idOf(n.toString(16).padStart(32, '0')))
    fc.assert(fc.property(anyId, id => accountOfApiKey(newApiKey(id)) === id))
    for (const id of ['00000000-0000-0000-0000-000000000000', 'ffffffff-ffff-ffff-ffff-ffffffffffff']) {
      expect(accountOfApiKey(newApiKey(id))).toBe(id)
    }
  })

  it('never repeats its secret', () => {
    const id = newId()
    const secrets = Array.from({ length: 1000 }, () => newApiKey(id).slice(25, 68))
    expect(new Set(secrets).size).toBe(1000)
  })

  it('is rejected after any change of one character', () => {
    const key = newApiKey(newId())
    const others = [...base62, '-', '_', ' ', 'é', '\0']
    const mutants = [...key].flatMap((character, index) =>
      others.filter(other => other !== character).map(other => key.slice(0, index) + other + key.slice(index + 1)),
    )
    expect(mutants.length).toBeGreaterThan(4500)
    expect(mutants.filter(mutant => accountOfApiKey(mutant) !== null)).toEqual([])
  })

  it('is rejected when characters are dropped, added or exchanged', () => {
    const key = newApiKey(newId())
    const index = fc.nat(key.length - 1)
    const exchanged = fc.tuple(index, index).map(([a, b]) => {
      const characters = [...key]
      ;[characters[a], characters[b]] = [characters[b] as string, characters[a] as string]
      return characters.join('')
    })
    const longer = fc
      .tuple(index, fc.string({ minLength: 1, maxLength: 3 }))
      .map(([at, text]) => key.slice(0, at) + text + key.slice(at))
    const shorter = fc
      .tuple(index, fc.integer({ min: 1, max: 5 }))
      .map(([at, count]) => key.slice(0, at) + key.slice(at + count))
    const mutant = fc.oneof(exchanged, longer, shorter).filter(text => text !== key)
    fc.assert(
      fc.property(mutant, text => accountOfApiKey(text) === null),
      { numRuns: 5000 },
    )
  })

  it.each([
    ['a site token', newSiteToken(newId(), newId())],
    ['nothing', ''],
    ['the bare prefix', 'sk-'],
    ['a final line break', `${newApiKey(newId())}\n`],
    ['another prefix', newApiKey(newId()).replace('sk-', 'SK-')],
    ['a megabyte', `sk-${'0'.repeat(1_000_000)}`],
  ])('is not %s', (_name, text) => {
    expect(accountOfApiKey(text)).toBeNull()
  })

  it('rejects a text of another form', () => {
    fc.assert(fc.property(fc.string({ unit: 'binary' }), text => accountOfApiKey(text) === null))
  })
})

describe('credentials › a site token', () => {
  it('consists of st-, 22 digits of the account, 22 of the site, 43 of the secret and 6 of the checksum', () => {
    expect(newSiteToken(newId(), newId())).toMatch(/^st-[\dA-Za-z]{93}$/)
  })
})

describe('credentials › storage', () => {
  it('has the SHA-256 of a key and of a token, and no part of their texts anywhere', async () => {
    const { key, siteToken, siteId } = await service.newAccount()
    await service.call('POST', '/api/v1/consents', { key, body: { site_id: siteId } })
    const stored = (await everything()).join('\n')
    for (const secret of [key, siteToken]) {
      expect(stored).toContain(hashOf(secret).toString('hex'))
      for (const part of [secret, secret.slice(-49, -6), secret.slice(-49, -27)]) {
        expect(stored).not.toContain(part)
        expect(stored).not.toContain(Buffer.from(part).toString('hex'))
        expect(stored).not.toContain(Buffer.from(part).toString('base64').slice(0, -4))
      }
    }
  })
})

/** Every row of every table, as text; bytes are in hexadecimal there. */
async function everything(): Promise<string[]> {
  const { sql } = service
  const tables = await sql<{ name: string }[]>`
    select table_name as name from information_schema.tables where table_schema = 'public'`
  expect(tables.length).toBeGreaterThan(5)
  const rows = await Promise.all(
    tables.map(({ name }) => sql<{ row: string }[]>`select t::text as row from ${sql(name)} t`),
  )
  return rows.flat().map(({ row }) => row)
}
