import { fileURLToPath } from 'node:url'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import type { Consent, NewAccount } from '../../src/contract/index.ts'
import { type Browser, browserPath, openBrowser, type Shop, serveShop } from '../support/browser.ts'
import type { ServerProcess } from '../support/server.ts'
import { type Attack, attacksOn, formsOn, readable } from './attacks.ts'
import { useServed } from './served.ts'

const served = useServed('browser', { env: { PUBLIC_RATE_PER_ADDRESS: '1000' }, canRun: browserPath !== undefined })
const functions = fileURLToPath(new URL('../fixtures/page.js', import.meta.url))
let server: ServerProcess
let account: NewAccount
let browser: Browser
/** Where the banner belongs; another port of that host, to which browsers give the same cookies; another host. */
let shops: Record<'own' | 'neighbour' | 'foreigner', Shop>
/** A page of the service's own origin, where the account's owner is signed in. */
let dashboard: Page
let page: Page

/** Calls a function of test/fixtures/page.js in a page with each of the inputs, and gives what it sees. */
async function tryAll(page: Page, name: 'send' | 'submit' | 'embed' | 'include', inputs: readonly unknown[]) {
  const work = `(async inputs => {
    const seen = []
    for (const input of inputs) seen.push(await ${name}(input))
    return seen
  })(${JSON.stringify(inputs)})`
  return (await page.evaluate(work)) as string[]
}

/** Sends a request from the dashboard, and gives the answer's body. */
async function ask(method: string, path: string, body?: object) {
  const headers = { 'content-type': 'application/json' }
  const options = { method, headers, ...(body && { body: JSON.stringify(body) }) }
  const [seen = ''] = await tryAll(dashboard, 'send', [{ url: path, options }])
  expect(seen).toMatch(/^20\d /)
  return JSON.parse(seen.slice(4) || 'null')
}

async function records(): Promise<Consent[]> {
  return (await ask('GET', '/api/v1/consents?include_deleted=true')).data
}

/** All that an attack could change. */
async function state() {
  const paths = ['session', 'keys', 'sites', 'usage', 'consents?include_deleted=true']
  return await Promise.all(paths.map(path => ask('GET', `/api/v1/${path}`)))
}

/** Who called, where, and to what end, as the service has logged it since the last time. */
let logged = 0
async function calls(): Promise<string[]> {
  await ask('GET', '/ready') // its line is the last of those
  const lines = await vi.waitFor(() => {
    const since = server.output().split('\n').slice(logged, -1)
    expect(since.at(-1)).toContain('/ready')
    return since
  })
  logged += lines.length
  const requests = lines.slice(0, -1).filter(line => line.includes('"msg":"request"'))
  return requests.map(line => {
    const { method, route, status, caller = 'nobody' } = JSON.parse(line)
    return `${caller} ${method} ${route} ${status}`
  })
}

async function start(): Promise<void> {
  ;({ server, account } = served)
  browser = await openBrowser()
  const settings = { service: server.url, token: account.site.token }
  const [own, neighbour, foreigner] = await Promise.all([
    serveShop('127.0.0.1', settings),
    serveShop('127.0.0.1', settings),
    serveShop('localhost', settings),
  ])
  shops = { own, neighbour, foreigner }
  dashboard = await visit(`${server.url}/live`)
  const { email, password } = account.user
  await ask('POST', '/api/v1/session', { email, password })
  await ask('PATCH', `/api/v1/sites/${account.site.id}`, { allowed_origins: [own.origin], policy_version: 3 })
}

async function visit(url: string): Promise<Page> {
  const opened = await browser.context.newPage()
  await opened.goto(url)
  await opened.addScriptTag({ path: functions })
  return opened
}

describe.skipIf(!browserPath)('service › in a real browser', () => {
  beforeAll(start)
  afterAll(async () => {
    await browser?.close()
    await Promise.all(Object.values(shops ?? {}).map(shop => shop.close()))
  })

  it('a banner that shows its notice in German records that language', async () => {
    page = await visit(shops.own.origin)
    await page.evaluate(`
      const banner = document.getElementById('consent-banner')
      banner.lang = 'de'
      banner.querySelector('p').textContent = 'Dürfen wir Ihre Besuche zählen?'`)
    await page.getByRole('button', { name: 'Accept' }).click()
    await page.getByRole('button', { name: 'Accept' }).waitFor({ state: 'hidden' })
    expect((await records())[0]).toMatchObject({ accepted: true, notice_locale: 'de' })
    await page.evaluate('localStorage.clear()')
    await page.close()
  })

  it.each([
    ['Accept', true],
    ['Refuse', false],
  ])('a banner on a page of the site records the visitor’s choice: %s', async (button, accepted) => {
    page = await visit(shops.own.origin)
    const before = await records()
    await page.getByRole('button', { name: button }).click()
    await page.getByRole('button', { name: button }).waitFor({ state: 'hidden' })
    const [record, ...others] = await records()
    expect(others).toEqual(before)
    expect(record).toMatchObject({
      accepted,
      preferences: { analytics: accepted },
      site_id: account.site.id,
      policy_version: 3,
      user_agent: await page.evaluate('navigator.userAgent'),
    })
    const kept = (await page.evaluate('JSON.parse(localStorage.getItem("consent"))')) as Consent
    expect([kept.id, kept.subject_id]).toEqual([record?.id, record?.subject_id])
    const { data } = await ask('GET', `/api/v1/consents/${kept.id}/history`)
    expect(data).toEqual([expect.objectContaining({ changed_by: 'site_token', actor_id: account.site.id })])
    await page.reload()
    expect(await page.getByRole('button', { name: button }).isVisible()).toBe(false)
    await page.evaluate('localStorage.clear()')
    await page.close()
  })

  it.each(['neighbour', 'foreigner'] as const)(
    'a page of another origin, a %s, cannot record consent with the site’s banner',
    async name => {
      const before = await records()
      page = await visit(shops[name].origin)
      await calls()
      await page.getByRole('button', { name: 'Accept' }).click()
      await page.getByText('Your choice could not be kept: Failed to fetch').waitFor()
      expect(await calls()).toEqual([
        'nobody OPTIONS /api/v1/public/consent 204',
        'nobody POST /api/v1/public/consent 403',
      ])
      expect(await records()).toEqual(before)
      await page.close()
    },
  )

  describe.each([
    ['the site’s own', 'own', 'user GET /api/v1/consents 200'],
    ['another’s', 'foreigner', 'nobody GET /api/v1/consents 401'],
  ] as const)('a page of %s origin', (_name, shop, list) => {
    let attack: Attack
    let before: unknown

    beforeEach(async () => {
      const { data } = await ask('GET', '/api/v1/keys')
      const [record] = await records()
      attack = { url: server.url, account, keyId: data[0].id, recordId: record?.id ?? '' }
      before = await state()
      page = await visit(shops[shop].origin)
      await calls()
      return async () => {
        await page.close()
        expect(await state()).toEqual(before)
      }
    })

    it('cannot read or change private data with any request or credential', async () => {
      const requests = attacksOn(attack)
      const seen = await tryAll(page, 'send', requests)
      expect(seen.filter(one => one !== 'nothing')).toEqual([])
      const called = await calls()
      expect(called).toContain(list)
      expect(called.filter(call => !/ GET | 4\d\d$/.test(call))).toEqual([])
    })

    it('cannot read private data in a frame or as a script', async () => {
      for (const way of ['embed', 'include'] as const) {
        const seen = await tryAll(page, way, readable(attack))
        expect(new Set(seen)).toEqual(new Set(['nothing']))
        expect(await calls()).toContain(list)
      }
    })

    it('cannot create a record, session, key or site with any type of form', async () => {
      const forms = formsOn(attack)
      const seen = await tryAll(page, 'submit', forms)
      expect(new Set(seen)).toEqual(new Set(['nothing']))
      const called = await calls()
      expect(called).toHaveLength(forms.length)
      expect(called.filter(call => !/ POST .* (401|403|415)$/.test(call))).toEqual([])
    })
  })

  it('downloads a hostile notice text, and executes it neither as a page nor in a frame', async () => {
    const path = `/api/v1/sites/${account.site.id}/notices/9`
    const hostile = '<script>fetch("/api/v1/keys", { method: "POST", body: "{}" }); top.hacked = true</script>'
    const upload = { method: 'PUT', headers: { 'content-type': 'text/html' }, body: hostile }
    await ask('PUT', path, {})
    expect(await tryAll(dashboard, 'send', [{ url: `${path}/texts/en`, options: upload }])).toEqual([
      expect.stringMatching(/^200 /),
    ])
    const before = await state()
    await calls()
    page = await browser.context.newPage()
    const download = page.waitForEvent('download')
    await page.goto(`${server.url}${path}/texts/en`).catch(() => {}) // a download ends the navigation
    expect((await download).suggestedFilename()).toBe('notice-9-en.html')
    await dashboard.evaluate(`new Promise(resolve => {
      const frame = document.createElement('iframe')
      frame.src = '${path}/texts/en'
      frame.onload = resolve
      setTimeout(resolve, 500)
      document.body.append(frame)
    })`)
    expect(await dashboard.evaluate('window.hacked')).toBeUndefined()
    const seen = await calls()
    expect(seen.filter(call => !call.includes('GET /api/v1/sites/:id/notices/:version/texts/:language 200'))).toEqual(
      [],
    )
    expect(seen).toHaveLength(2)
    expect(await state()).toEqual(before)
    await page.close()
  })

  it('the dashboard page can do what other pages cannot', async () => {
    expect(await dashboard.evaluate('document.cookie')).toBe('')
    const { data } = await ask('GET', '/api/v1/keys')
    const [record] = await records()
    const attack = { url: server.url, account, keyId: data[0].id, recordId: record?.id ?? '' }
    const shown = readable(attack).filter(url => !url.endsWith('/evidence')) // a download
    const seen = await tryAll(dashboard, 'embed', shown)
    for (const text of seen) expect(text).toMatch(/^(\{\s*"|consentctl\/|c2sp\.org\/)/)
    expect((await ask('POST', '/api/v1/consents', { site_id: account.site.id })).site_id).toBe(account.site.id)
  })
})
