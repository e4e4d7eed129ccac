import type { Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { bannerNames, snippetFor } from '../../src/commands/sites/snippets.ts'
import type { AuditEntry, Consent, NewAccount } from '../../src/contract/index.ts'
import { type BannerShop, banners, serveBanners } from '../support/banners.ts'
import { type Browser, browserPath, openBrowser } from '../support/browser.ts'
import { useFolder } from '../support/cli.ts'
import { createAccount, type ServerProcess, startServer } from '../support/server.ts'
import { databaseFor } from './campaign.ts'

const folder = useFolder()
let server: ServerProcess
let account: NewAccount
let browser: Browser
let shop: BannerShop
let page: Page
let known: readonly string[] = []

async function start(): Promise<void> {
  const database = await databaseFor('banners', folder.path)
  const env = { HOME: folder.path, PUBLIC_RATE_PER_ADDRESS: '1000', ...database }
  server = await startServer(['--port', '0'], env)
  const snippet = (name: (typeof bannerNames)[number]) =>
    snippetFor(name, { service: server.url, token: account.site.token })
  shop = await serveBanners(snippet, { '/klaro-api': klaroPage })
  account = await createAccount(['--email', 'owner@example.com', '--site', 'Shop'], env)
  await allow(shop.origin)
  browser = await openBrowser()
}

/** Klaro with the address of the service and the token as attributes, and without a snippet. */
function klaroPage(): string {
  const attributes = `data-klaro-api-url="${server.url}/api/v1/public/klaro" data-klaro-id="${account.site.token};required=session"`
  return `<!doctype html><title>A shop</title>${banners.klaro.html}
    <script>window.klaroApiConfigs = [{ name: 'default', status: 'active', id: 'shop', ...klaroConfig }]</script>`.replace(
    'defer src',
    `defer ${attributes} src`,
  )
}

/** Signs in, because no key may say which pages record consents. */
async function allow(origin: string): Promise<void> {
  const headers = { 'content-type': 'application/json', origin: server.url }
  const send = (method: string, path: string, body: object, more = {}) =>
    fetch(`${server.url}/api/v1/${path}`, { method, headers: { ...headers, ...more }, body: JSON.stringify(body) })
  const { email, password } = account.user
  const session = await send('POST', 'session', { email, password })
  const cookie = session.headers.get('set-cookie')?.split(';')[0]
  const { status } = await send('PATCH', `sites/${account.site.id}`, { allowed_origins: [origin] }, { cookie })
  expect([session.status, status]).toEqual([201, 200])
}

async function read(path: string) {
  const headers = { authorization: `Bearer ${account.api_key}` }
  const response = await fetch(`${server.url}/api/v1/consents${path}`, { headers })
  expect(response.status).toBe(200)
  return ((await response.json()) as { data: unknown[] }).data
}

/** The answers of each record since the last time, and if `Sec-GPC` was on, oldest first. */
async function newRecords() {
  const records = (await read('?limit=100')) as Consent[]
  const fresh = records.filter(({ id }) => !known.includes(id)).reverse()
  known = records.map(({ id }) => id)
  return await Promise.all(
    fresh.map(async ({ id, accepted, preferences }) => {
      const history = (await read(`/${id}/history`)) as AuditEntry[]
      expect(history.at(-1)).toMatchObject({ accepted, preferences })
      return history.map(entry => [entry.accepted, entry.preferences, entry.gpc ?? false])
    }),
  )
}

/** Until every choice was answered. */
async function recorded(): Promise<void> {
  await page.waitForFunction('localStorage.consent === "" && localStorage.consentSent === ""')
}

const path = '**/api/v1/public/consent'

/** Makes a choice, and waits until it is recorded. */
type Network = (act: () => Promise<unknown>) => Promise<void>

const steady: Network = async act => {
  await act()
  await recorded()
}

const offline: Network = async act => {
  await browser.context.setOffline(true)
  await act()
  await page.waitForFunction('localStorage.consentSent')
  await browser.context.setOffline(false)
  await recorded()
}

/** The service alone: the page itself can load anew, as some banners have it do. The next page sends the choice again. */
const unreachable: Network = async act => {
  await page.route(path, route => route.abort())
  await act()
  await page.waitForFunction('localStorage.consentSent')
  await page.unrouteAll({ behavior: 'wait' })
  await page.reload()
  await recorded()
}

/** The service answers and the page never learns it. The next page sends the choice again. */
const lost: Network = async act => {
  const isLost = new Promise<void>(resolve => {
    void page.route(path, async route => {
      await route.fetch()
      await route.abort()
      resolve()
    })
  })
  await act()
  await isLost
  await page.unrouteAll({ behavior: 'wait' })
  await page.reload()
  await recorded()
}

/** Of the first, second and third choice. */
type Conditions = readonly [name: string, first: Network, second: Network, third: Network, gpc: boolean]

const conditions: readonly Conditions[] = process.env['CONSENTCTL_TEST_BANNERS']
  ? Object.entries({ steady, unreachable, lost }).flatMap(([name, network]): Conditions[] => [
      [name, network, network, network, false],
      [`${name}, with Sec-GPC`, network, network, network, true],
    ])
  : [['at first offline, at last with a lost answer, with Sec-GPC', offline, steady, lost, true]]

describe.skipIf(!browserPath).each(bannerNames)('a page with the banner %s and its snippet', name => {
  const { ready, accept, refuse, change, withdraw, preferences } = banners[name]
  const { all, none, part } = preferences

  beforeEach(async () => {
    await newRecords()
    page = await browser.context.newPage()
    await page.goto(`${shop.origin}/${name}`)
    if (ready) await page.waitForSelector(ready)
  })
  afterEach(async () => {
    await browser.context.setOffline(false)
    await page.goto(shop.origin)
    await page.evaluate('localStorage.clear()')
    await browser.context.clearCookies()
    await page.close()
  })

  describe.each(conditions)('%s', (_, first, second, third, gpc) => {
    beforeEach(() => page.setExtraHTTPHeaders(gpc ? { 'Sec-GPC': '1' } : {}))

    it('records a refusal, once', async () => {
      await first(() => refuse(page))
      await page.reload()
      expect(await newRecords()).toEqual([[[false, none, gpc]]])
    })

    it('makes one record of a visitor, and a change of it by each later choice', async () => {
      await first(() => accept(page))
      if (change) await second(() => change(page))
      await third(() => withdraw(page))
      const changes = part ? [[true, part, gpc]] : []
      expect(await newRecords()).toEqual([[[true, all, gpc], ...changes, [false, none, gpc]]])
    })
  })
})

it.skipIf(!browserPath)('Klaro itself records each choice as a record, if it is given the address', async () => {
  page = await browser.context.newPage()
  await page.goto(`${shop.origin}/klaro-api`)
  const { accept, withdraw, preferences } = banners.klaro
  const records: unknown[] = []
  for (const choose of [accept, withdraw]) {
    const count = records.length
    const answered = page.waitForResponse('**/submit') // of the choice, or of a message about what the page shows
    await choose(page)
    expect((await answered).status()).toBe(200)
    await expect.poll(async () => records.push(...(await newRecords()))).toBe(count + 1)
  }
  expect(records).toEqual([[[true, preferences.all, false]], [[false, preferences.none, false]]])
  expect(server.output()).toContain('/privacy-managers/:token/submit')
  expect(server.output()).not.toContain(account.site.token)
})

beforeAll(async () => {
  if (browserPath) await start()
})

afterAll(async () => {
  await browser?.close()
  await server?.end('SIGTERM')
  await shop?.close()
})
