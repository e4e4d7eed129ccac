import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Geo, nowhere, openGeo } from '../../../server/net/geo.ts'
import { OperatorError } from '../../../src/contract/index.ts'
import { useFolder } from '../../support/cli.ts'
import { mmdb, type Value } from '../../support/mmdb.ts'

const folder = useFolder()

const flat = (code: string) => ({ country_code: code })
const nested = (country: string, ...subdivisions: string[]) => ({
  country: { iso_code: country, names: { en: 'x' } },
  subdivisions: subdivisions.map(iso_code => ({ iso_code })),
})

function write(content: Buffer | string): string {
  const file = join(folder.path, `${Math.random()}.mmdb`)
  writeFileSync(file, content)
  return file
}

const rethrow = (error: Error) => {
  throw error
}

function open(networks: Record<string, Value>, ipVersion: 4 | 6 = 6): Geo {
  return openGeo({ geoipDb: write(mmdb(networks, ipVersion)) }, rethrow)
}

describe('openGeo › included database', () => {
  const geo = openGeo({ geoipDb: null }, rethrow)

  it.each([
    ['193.0.6.139', 'NL'],
    ['::ffff:193.0.6.139', 'NL'],
    ['::ffff:c100:68b', 'NL'],
    ['8.8.8.8', 'US'],
    ['2001:4860:4860::8888', 'US'],
    ['2001:67c:2e8:22::c100:68b', 'NL'],
  ])('returns the country of %s, and no region', (address, country) => {
    expect(geo.lookup(address)).toEqual({ country, region: null })
  })

  it.each([
    ...'0.0.0.0 10.1.2.3 100.64.0.1 127.0.0.1 169.254.1.1 172.16.0.1 192.168.1.7 192.0.2.1 198.51.100.1'.split(' '),
    ...'203.0.113.9 224.0.0.1 240.0.0.1 255.255.255.255 ::ffff:192.168.1.7 :: ::1 fe80::1 fd00::1'.split(' '),
    ...'ff02::1 2001:db8::1 64:ff9b::808:808 2002:808:808::1 2001:0:808:808::1 4000::1'.split(' '),
    ...['', 'unknown', '8.8.8.8, 8.8.4.4', '8.8.8.8:80', '[2001:4860:4860::8888]', '8.8.8'],
  ])('returns no country for %j', address => {
    expect(geo.lookup(address)).toEqual(nowhere)
  })
})

describe('openGeo › custom database', () => {
  it.each<[string, Value, string | null, string | null]>([
    ['the flat form', flat('NL'), 'NL', null],
    ['the nested form', nested('GB', 'ENG', 'WBK'), 'GB', 'ENG'],
    ['a region of digits', nested('FR', '75'), 'FR', '75'],
    ['a country without a region', nested('BT'), 'BT', null],
    ['no country', { continent: { code: 'EU' } }, null, null],
    ['a code in lower case', flat('nl'), null, null],
    ['an empty code', flat(''), null, null],
    ['a name for a code', nested('France', 'Île-de-France'), null, null],
    ['a code with more after it', nested('FR\n', '75\n'), null, null],
    ['a number for a code', { country_code: 33 }, null, null],
    ['texts for maps', { country: 'FR', subdivisions: 'IDF' }, null, null],
    ['a text', 'FR', null, null],
  ])('is read with %s', (_form, record, country, region) => {
    const geo = open({ '81.2.69.0/24': record, '2a01:e00::/32': record })
    expect(geo.lookup('81.2.69.142')).toEqual({ country, region })
    expect(geo.lookup('2a01:e00::1')).toEqual({ country, region })
  })

  it('looks up the network of an address, not the address itself', () => {
    const geo = open({
      '81.2.69.0/24': nested('GB', 'ENG'),
      '81.2.69.142/32': nested('FR', 'IDF'),
      '2a01:e00:7::/48': flat('GB'),
      '2a01:e00:7:1::/64': flat('FR'),
      '81.2.70.142/32': flat('FR'),
    })
    for (const address of ['81.2.69.142', '::ffff:81.2.69.142', '81.2.69.1']) {
      expect(geo.lookup(address)).toEqual({ country: 'GB', region: 'ENG' })
    }
    expect(geo.lookup('2a01:e00:7:1::9')).toEqual({ country: 'GB', region: null })
    expect(geo.lookup('81.2.70.142')).toEqual(nowhere)
  })

  it('returns the same for all addresses of one network', () => {
    const halves = [0, 64, 128, 192].map(byte => [`81.2.69.${byte}/26`, flat(byte % 128 ? 'GB' : 'FR')])
    const geo = open(Object.fromEntries(halves))
    const property = fc.property(fc.nat(255), byte => {
      expect(geo.lookup(`81.2.69.${byte}`)).toEqual({ country: 'FR', region: null })
    })
    fc.assert(property)
  })

  it('returns nothing for private and reserved addresses, even if the database lists a country for them', () => {
    const geo = open({ '0.0.0.0/1': flat('FR'), '128.0.0.0/1': flat('FR'), '8000::/1': flat('FR') })
    expect(geo.lookup('11.0.0.1').country).toBe('FR')
    for (const address of ['10.0.0.1', '192.168.1.1', '203.0.113.1', 'fe80::1']) {
      expect(geo.lookup(address)).toEqual(nowhere)
    }
  })

  it('returns nothing for IPv6 if the database has only IPv4', () => {
    const geo = open({ '32.0.0.0/3': flat('FR') }, 4)
    expect(geo.lookup('42.0.0.1').country).toBe('FR')
    expect(geo.lookup('2a01:e00::1')).toEqual(nowhere)
  })
})

describe('openGeo › GEOIP_DB', () => {
  const valid = mmdb({ '1.0.0.0/8': nested('AU') })

  it.each<[string, () => string, RegExp]>([
    ['names no file', () => join(folder.path, 'none.mmdb'), /no such file/],
    ['names a folder', () => folder.path, /directory/],
    ['is empty', () => write(''), /./],
    ['is no database', () => write('x'.repeat(5000)), /./],
    ['is cut short', () => write(valid.subarray(0, -40)), /./],
    ['has lost its beginning', () => write(valid.subarray(-150)), /./],
    ['is of another kind', () => write(mmdb({ '1.0.0.0/8': { autonomous_system_number: 1 } })), /of type Test/],
  ])('is rejected immediately, with its name and a hint, when it %s', (_why, make, reason) => {
    const file = make()
    const failure = thrownBy(() => openGeo({ geoipDb: file }, rethrow))
    expect(failure).toBeInstanceOf(OperatorError)
    expect(failure.message).toContain(`GEOIP_DB, ${file}: `)
    expect(failure.message).toMatch(reason)
    expect(failure).toHaveProperty('hint', expect.stringContaining('MMDB'))
  })

  it('is abandoned with one report when damage is found later', () => {
    const good = mmdb({ '1.0.0.0/8': flat('AU'), '81.2.0.0/16': flat('GB') })
    const record = good.lastIndexOf('country_code')
    const damaged = Buffer.from(good).fill(0, record - 2, record)
    const reports: string[] = []
    const geo = openGeo({ geoipDb: write(damaged) }, error => reports.push(error.message))
    expect(geo.lookup('1.2.3.4').country).toBe('AU')
    for (const address of ['81.2.69.142', '81.2.69.142', '1.2.3.4']) {
      expect(geo.lookup(address)).toEqual(nowhere)
    }
    expect(reports).toHaveLength(1)
  })

  it('is rejected or read without an error when any of its bytes is altered', () => {
    const file = write(valid)
    const changes = fc.array(fc.tuple(fc.nat(valid.length - 1), fc.nat(255)), { minLength: 1, maxLength: 4 })
    const property = fc.property(changes, bytes => {
      const altered = Buffer.from(valid)
      for (const [index, byte] of bytes) altered[index] = byte
      writeFileSync(file, altered)
      try {
        const geo = openGeo({ geoipDb: file }, () => {})
        for (const address of ['1.2.3.4', '81.2.69.142', '2a01:e00::1']) {
          expect(geo.lookup(address).country).toSatisfy(code => code === null || /^[A-Z]{2}$/.test(code))
        }
      } catch (error) {
        expect(error).toBeInstanceOf(OperatorError)
      }
    })
    fc.assert(property, { numRuns: 1000 })
  })
})

function thrownBy(work: () => unknown): Error {
  try {
    work()
  } catch (error) {
    return error as Error
  }
  throw new Error('nothing was thrown')
}
