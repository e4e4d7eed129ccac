import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { type Geo, openGeo } from '../../../server/net/geo.ts'
import { useFolder } from '../../support/cli.ts'
import { mmdb } from '../../support/mmdb.ts'
import { useService } from '../../support/service.ts'
import { newOwner, type Owner } from './records.ts'

const folder = useFolder()

describe('country and region › with the included database', () => {
  const service = useService()
  let owner: Owner
  beforeAll(async () => {
    owner = await newOwner(service)
  })

  it.each([
    ['193.0.6.139', 'NL'],
    ['2001:4860:4860::8888', 'US'],
    ['::ffff:193.0.6.139', 'NL'],
    ['192.168.1.7', null],
    ['2001:db8::1', null],
    ['::ffff:10.1.2.3', null],
  ])('returns for a record with the address %s the country %j', async (ip_address, country) => {
    const created = await owner.create({ ip_address })
    expect(created).toMatchObject({ country, region: null })
    expect((await owner.get(created.id)).body).toEqual(created)
  })

  it('keeps the country of a record through updates and a deletion', async () => {
    const { id } = await owner.create({ ip_address: '193.0.6.139' })
    expect((await owner.update(id, { accepted: true })).body.country).toBe('NL')
    expect((await owner.remove(id)).body.country).toBe('NL')
  })

  it('stores no country without an address, and rejects a country in the body', async () => {
    expect(await owner.create()).toMatchObject({ country: null, region: null })
    for (const field of ['country', 'region']) {
      const answer = await owner.post({ site_id: owner.siteId, ip_address: '193.0.6.139', [field]: 'FR' })
      expect(answer.status).toBe(400)
    }
  })
})

describe.each(['truncated', 'raw', 'drop'] as const)('with subdivisions, and addresses kept %s', ipStorage => {
  const geo: Geo = { lookup: address => opened.lookup(address) }
  let opened: Geo
  const service = useService({ config: { ipStorage }, geo })
  beforeAll(() => {
    const place = (country: string, region: string) => ({
      country: { iso_code: country },
      subdivisions: [{ iso_code: region }],
    })
    const geoipDb = join(folder.path, `${ipStorage}.mmdb`)
    const known = { '81.2.69.0/24': place('GB', 'ENG'), '81.2.69.142/32': place('FR', 'IDF') }
    writeFileSync(geoipDb, mmdb({ ...known, '2a01:e00::/48': place('FR', 'IDF') }))
    opened = openGeo({ geoipDb }, error => {
      throw error
    })
  })

  it('stores the country and region of the address’s network', async () => {
    const owner = await newOwner(service)
    expect(await owner.create({ ip_address: '81.2.69.142' })).toMatchObject({
      country: 'GB',
      region: 'ENG',
    })
    expect(await owner.create({ ip_address: '2a01:e00::9' })).toMatchObject({
      country: 'FR',
      region: 'IDF',
    })
    const kept = {
      truncated: ['81.2.69.0/24', '2a01:e00::/48'],
      raw: ['81.2.69.142/32', '2a01:e00::9/128'],
    }
    const rows = await service.sql`
      select ip_network::text as network from consents where account_id = ${owner.accountId} order by id
    `
    expect(rows.map(row => row['network'])).toEqual(ipStorage === 'drop' ? [null, null] : kept[ipStorage])
  })
})
