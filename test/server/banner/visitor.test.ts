import { beforeAll, describe, expect, it } from 'vitest'
import { useService } from '../../support/service.ts'
import { newShop, type Shop } from './shop.ts'

const unlimited = { max: 1e6, seconds: 60 }
const bannerLimits = { address: unlimited, site: unlimited }
const edge = { edgeCountryHeader: 'cf-ipcountry', edgeRegionHeader: 'cf-region-code' }
const nothing = { country: null, region: null, network: null }

/** Addresses that the included database of countries knows. */
const [dutch, american, french] = ['193.0.6.139', '2001:4860:4860::8888', '81.255.1.1']

function useShop(config: Parameters<typeof useService>[0] & object) {
  const service = useService({ ...config, bannerLimits })
  let shop: Shop
  beforeAll(async () => {
    shop = await newShop(service)
  })
  /** Returns the stored place and network of a visitor with these headers. */
  return async (headers: Record<string, string>) => {
    const { status, body } = await shop.visit({}, headers)
    expect(status).toBe(201)
    const [row] = await service.sql`
      select country, region, ip_network::text as network from consents where id = ${body.id}`
    return row
  }
}

describe('readConnection › untrusted client', () => {
  const direct = useShop({ config: edge })
  const other = useShop({ config: { ...edge, trustProxy: ['192.0.2.1', '10.0.0.0/8'] } })

  it.each([
    ['no header', {}],
    ['an address', { 'x-forwarded-for': dutch }],
    ['the address of a trusted proxy', { 'x-forwarded-for': '10.0.0.1' }],
    ['a country', { 'cf-ipcountry': 'FR', 'cf-region-code': 'IDF' }],
    ['both', { 'x-forwarded-for': `${dutch}, 10.0.0.1`, 'cf-ipcountry': 'FR' }],
    ['other headers of proxies', { forwarded: `for=${dutch}`, 'x-real-ip': dutch, 'cf-connecting-ip': dutch }],
  ])('ignores %s and stores its own address', async (_name, headers) => {
    const own = { ...nothing, network: '127.0.0.0/24' }
    expect(await direct(headers)).toEqual(own)
    expect(await other(headers)).toEqual(own)
  })
})

describe('readConnection › trusted proxy', () => {
  const proxied = useShop({ config: { ...edge, trustProxy: ['127.0.0.1', '10.0.0.0/8', '2001:db8::/32'] } })

  it.each([
    ['IPv4', dutch, 'NL', '193.0.6.0/24'],
    ['IPv6', american, 'US', '2001:4860:4860::/48'],
    ['IPv4 in IPv6', `::ffff:${dutch}`, 'NL', '193.0.6.0/24'],
    ['IPv4 with its port', `${dutch}:50811`, 'NL', '193.0.6.0/24'],
    ['IPv6 in brackets', `[${american}]`, 'US', '2001:4860:4860::/48'],
    ['IPv6 with its port', `[${american}]:50811`, 'US', '2001:4860:4860::/48'],
    ['another proxy between', `${dutch}, 10.1.2.3, 2001:db8::7`, 'NL', '193.0.6.0/24'],
    ['what the client had put there', `${american}, ${dutch}`, 'NL', '193.0.6.0/24'],
    ['trusted addresses that the client had put there', `10.0.0.9, ${dutch}, 10.1.2.3`, 'NL', '193.0.6.0/24'],
    ['garbage that the client had put there', `'"<x>,,unknown, ${dutch}`, 'NL', '193.0.6.0/24'],
    ['an address within a link', 'fe80::1%eth0', null, 'fe80::/48'],
  ])('uses the address: %s', async (_name, forwarded, country, network) => {
    expect(await proxied({ 'x-forwarded-for': forwarded })).toEqual({ country, network, region: null })
  })

  it.each([
    ...['unknown', '_hidden', '193.0.6', '193.0.6.139.1', '0301.0.6.139', '3238004363', '193.0.6.139/24'],
    ...['[193.0.6.139', '::g', '127.1', 'localhost', `for=${dutch}`, `${dutch} ${dutch}`, 'é', 'x'.repeat(8000)],
    `${dutch}, unknown`,
  ])('accepts the visit without an address for %.20j', async forwarded => {
    expect(await proxied({ 'x-forwarded-for': forwarded })).toEqual(nothing)
  })

  it.each(['', ' ', ',', ' , '])('uses the address of the connection when X-Forwarded-For is %j', async forwarded => {
    expect(await proxied({ 'x-forwarded-for': forwarded })).toEqual({ ...nothing, network: '127.0.0.0/24' })
  })

  it.each([
    ['both', { 'cf-ipcountry': 'DE', 'cf-region-code': 'BY' }, 'DE', 'BY'],
    ['a country alone', { 'cf-ipcountry': 'DE' }, 'DE', null],
    ['a country and no region', { 'cf-ipcountry': 'DE', 'cf-region-code': 'Bavaria' }, 'DE', null],
    ['a region alone', { 'cf-region-code': 'BY' }, 'FR', null],
    ['an unknown country', { 'cf-ipcountry': 'XX', 'cf-region-code': 'BY' }, 'FR', null],
    ['Tor', { 'cf-ipcountry': 'T1' }, 'FR', null],
    ['lower case', { 'cf-ipcountry': 'de' }, 'FR', null],
    ['nothing', { 'cf-ipcountry': '' }, 'FR', null],
    ['two countries', { 'cf-ipcountry': 'DE, NL' }, 'FR', null],
    ['headers that are not configured', { 'x-vercel-ip-country': 'DE' }, 'FR', null],
  ])('prefers the country and region sent by the proxy: %s', async (_name, headers, country, region) => {
    const kept = await proxied({ 'x-forwarded-for': french, ...headers })
    expect(kept).toEqual({ country, region, network: '81.255.1.0/24' })
  })
})

describe('readConnection › trusted proxy without country headers, with raw addresses', () => {
  const proxied = useShop({ config: { trustProxy: ['127.0.0.1'], ipStorage: 'raw' } })

  it("stores and looks up only the visitor's address", async () => {
    const headers = { 'x-forwarded-for': french, 'cf-ipcountry': 'DE', 'cf-region-code': 'BY' }
    expect(await proxied(headers)).toEqual({ country: 'FR', region: null, network: `${french}/32` })
  })
})
