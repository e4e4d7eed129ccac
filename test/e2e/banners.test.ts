import { setTimeout as delay } from 'node:timers/promises'
import type { Page, WebError } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { AuditEntry, Consent, NewAccount } from '../../src/contract/index.ts'
import { bannerNames, scriptElement, snippetFor } from '../../src/domain/snippets.ts'
import { type Edge, edges, type Situation, sample, situations, type Visit } from '../support/banner-situations.ts'
import { type Banner, type BannerShop, banners, hasBanners, serveBanners } from '../support/banners.ts'
import { type Browser, browserPath, openBrowser } from '../support/browser.ts'
import type { ServerProcess } from '../support/server.ts'
import { type Fate, startVisitorProxy, type VisitorProxy } from '../support/visitor-proxy.ts'
import { useServed } from './served.ts'

const canRun = browserPath !== undefined && hasBanners
const served = useServed('banners', { env: { PUBLIC_RATE_PER_ADDRESS: '1000' }, canRun })
let server: ServerProcess
let account: NewAccount
let browser: Browser
let shop: BannerShop
let page: Page
let known: readonly string[] = []
let plainOrigin: string
let proxy: VisitorProxy
const isFull = process.env['CONSENTCTL_TEST_BANNERS'] === '1'

async function start(): Promise<void> {
  ;({ server, account } = served)
  proxy = await startVisitorProxy(server.url)
  const snippet = (name: (typeof bannerNames)[number]) =>
    snippetFor(name, { service: proxy.url, token: account.site.token })
  const edgePages = Object.entries(edges).map(([title, edge]) => [edgePath(title), () => edgePage(edge)] as const)
  shop = await serveBanners(snippet, { '/klaro-api': klaroPage, ...Object.fromEntries(edgePages) })
  plainOrigin = shop.origin.replace('127.0.0.1', 'shop.test')
  await allow(shop.origin, plainOrigin)
  browser = await openBrowser({ args: ['--host-resolver-rules=MAP shop.test 127.0.0.1'] })
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

const edgePath = (title: string) => `/${title.replaceAll(' ', '-')}`

function edgePage({ name, html }: Edge): string {
  const script = scriptElement.replace('consent', `consent-${name}`)
  return `<!doctype html><title>A shop</title><body>${html(banners[name].html)}${script}`
}

/** Signs in, because no key may say which pages record consents. */
async function allow(...origins: string[]): Promise<void> {
  const headers = { 'content-type': 'application/json', origin: server.url }
  const send = (method: string, path: string, body: object, more = {}) =>
    fetch(`${server.url}/api/v1/${path}`, { method, headers: { ...headers, ...more }, body: JSON.stringify(body) })
  const { email, password } = account.user
  const session = await send('POST', 'session', { email, password })
  const cookie = session.headers.get('set-cookie')?.split(';')[0]
  const { status } = await send('PATCH', `sites/${account.site.id}`, { allowed_origins: origins }, { cookie })
  expect([session.status, status]).toEqual([201, 200])
}

async function read(path: string) {
  const headers = { authorization: `Bearer ${account.api_key}` }
  const response = await fetch(`${server.url}/api/v1/consents${path}`, { headers })
  expect(response.status).toBe(200)
  return ((await response.json()) as { data: unknown[] }).data
}

async function newRecords() {
  const records = await latestRecords()
  known = [...known, ...records.map(({ id }) => id)]
  return records.map(({ states }) => states)
}

/** The answers of each record since `newRecords`, and if `Sec-GPC` was on, oldest first. */
async function latestRecords() {
  const records = (await read('?limit=100')) as Consent[]
  const fresh = records.filter(({ id }) => !known.includes(id)).reverse()
  return await Promise.all(
    fresh.map(async ({ id, accepted, preferences }) => {
      const history = (await read(`/${id}/history`)) as AuditEntry[]
      expect(history.at(-1)).toMatchObject({ accepted, preferences })
      return { id, states: history.map(entry => [entry.accepted, entry.preferences, entry.gpc ?? false]) }
    }),
  )
}

/** Until every choice was answered. */
async function recorded(tab = page): Promise<void> {
  await tab.waitForFunction(
    'localStorage.consent && localStorage.consent === localStorage.consentDone && !localStorage.consentSent',
  )
}

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

/** Until a choice was sent without an answer. The next page sends it again. */
const without =
  (fate: Fate): Network =>
  async act => {
    const count = proxy.posts()
    proxy.fate = fate
    await act()
    await expect.poll(proxy.posts).toBeGreaterThan(count)
    await page.waitForFunction('localStorage.consentSent')
    proxy.fate = 'passed'
    await page.reload()
    await recorded()
  }

/** The service alone: the page itself can load anew, as some banners have it do. */
const unreachable = without('down')

/** The service answers and the page never learns it. */
const lost = without('lost')

/** Of the first, second and third choice. */
type Conditions = readonly [name: string, first: Network, second: Network, third: Network, gpc: boolean]

const conditions: readonly Conditions[] = isFull
  ? Object.entries({ steady, unreachable, lost }).flatMap(([name, network]): Conditions[] => [
      [name, network, network, network, false],
      [`${name}, with Sec-GPC`, network, network, network, true],
    ])
  : [['at first offline, at last with a lost answer, with Sec-GPC', offline, steady, lost, true]]

async function forgetVisitor(): Promise<void> {
  proxy.fate = 'passed'
  proxy.gpc = false
  await browser.context.setOffline(false)
  await browser.context.clearCookies()
  await page.close()
  const tab = await browser.context.newPage() // without what the test added to its page
  for (const origin of [shop.origin, plainOrigin]) {
    await tab.goto(origin)
    await tab.evaluate('localStorage.clear()')
  }
  await tab.close()
}

describe.skipIf(!canRun).each(bannerNames)('a page with the banner %s and its snippet', name => {
  const { ready, accept, refuse, change, withdraw, preferences } = banners[name]
  const { all, none, part } = preferences

  beforeEach(async () => {
    await newRecords()
    page = await browser.context.newPage()
    await page.goto(`${shop.origin}/${name}`)
    if (ready) await page.waitForSelector(ready)
  })
  afterEach(forgetVisitor)

  describe.each(conditions)('connection: %s', (_, first, second, third, gpc) => {
    beforeEach(() => {
      proxy.gpc = gpc
    })

    it('records a refusal once', async () => {
      await first(() => refuse(page))
      await page.reload()
      expect(await newRecords()).toEqual([[[false, none, gpc]]])
    })

    it('creates one record per visitor, and updates it on each later choice', async () => {
      await first(() => accept(page))
      if (change) await second(() => change(page))
      await third(() => withdraw(page))
      const changes = part ? [[true, part, gpc]] : []
      expect(await newRecords()).toEqual([[[true, all, gpc], ...changes, [false, none, gpc]]])
    })
  })
})

/** Each browser is started once, by what its pages may keep. */
let blockedBrowser: Browser | undefined
async function browserFor(place: Situation['place']): Promise<Browser> {
  if (place !== 'without cookies') return browser
  const cookies = 2 // blocked, and with them every storage
  const preferences = { profile: { default_content_setting_values: { cookies } } }
  blockedBrowser ??= await openBrowser({ preferences })
  return blockedBrowser
}

/** Returns what the banner showed and kept, and what went wrong on the page. */
async function visit(banner: Banner, path: string, { place, run }: Situation): Promise<unknown[]> {
  const { context } = await browserFor(place)
  const origin = place === 'plain http' ? plainOrigin : shop.origin
  const seen: unknown[] = []
  const onError = (error: WebError) => seen.push(error.error().message)
  context.on('weberror', onError)
  page = await context.newPage()
  const isBare = path.endsWith('?bare')
  const steps: Visit = {
    banner,
    context,
    page,
    proxy,
    origin,
    open: async (tab = page, hasFile = true) => {
      await tab.goto(origin + path)
      if (banner.ready) await tab.waitForSelector(banner.ready)
      if (hasFile && !isBare) await tab.waitForFunction(isFileLoaded)
    },
    look: async (tab = page) => {
      await tab.waitForTimeout(200)
      seen.push(await tab.evaluate(banner.state))
    },
    recorded: async (tab = page) => {
      if (!isBare) await recorded(tab)
    },
  }
  await run(steps)
  context.off('weberror', onError)
  return seen
}

const isFileLoaded = `performance.getEntriesByType('resource').some(
  ({ name, responseEnd }) => name.includes('/consent-') && responseEnd > 0 && responseEnd < performance.now() - 50)`

describe.skipIf(!canRun).each(bannerNames)(
  'a page with the banner %s behaves as without the snippet, and its record matches the choice',
  name => {
    const banner = banners[name]
    const chosen = Object.entries(situations).filter(
      ([situation, { isFor }]) => (isFull || sample[name] === situation) && (isFor?.(banner) ?? true),
    )
    afterEach(forgetVisitor)

    it.each(chosen)('matches the choice: %s', async (_, situation) => {
      await newRecords()
      const bare = await visit(banner, `/${name}?bare`, situation)
      await forgetVisitor()
      expect(await newRecords()).toEqual([])
      expect(await visit(banner, `/${name}`, situation)).toEqual(bare)
      const { all } = banner.preferences
      const records = situation.records?.(banner) ?? [[[true, all]]]
      const expected = records.map(states => states.map(state => [...state, false]))
      await expect
        .poll(async () => (await latestRecords()).map(({ states }) => states), { timeout: 5000 })
        .toEqual(expected)
      await delay(300)
      expect(await newRecords()).toEqual(expected)
    })
  },
)

describe.skipIf(!canRun)('a record of a page', () => {
  afterEach(forgetVisitor)

  it.each(Object.entries(edges))('with %s contains only the choice', async (title, { run, states }) => {
    await newRecords()
    page = await browser.context.newPage()
    await page.goto(shop.origin + edgePath(title))
    await page.waitForFunction(isFileLoaded)
    await run(page)
    await delay(700)
    expect(await newRecords()).toEqual(states.length > 0 ? [states.map(state => [...state, false])] : [])
  })
})

it.skipIf(!canRun)('Klaro records each choice by itself when its address is configured', async () => {
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
  if (canRun) await start()
})

afterAll(async () => {
  await browser?.close()
  await blockedBrowser?.close()
  await shop?.close()
  await proxy?.close()
})
