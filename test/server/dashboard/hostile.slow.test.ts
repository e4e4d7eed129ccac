import type { Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { visible } from '../../../src/output/safe.ts'
import { strangers } from '../../src/output/hostile-strings.ts'
import { browserPath } from '../../support/browser.ts'
import { useDashboard } from '../../support/dashboard.ts'
import { mediaBytes, type TestAccount } from '../../support/service.ts'

/** What runs, loads or styles something where a page takes text for markup, a script, an address or a template. */
const markup: readonly string[] = [
  '<script>alert(1)</script>',
  '<img src=x onerror=alert(1)>',
  '<img src="https://evil.example/pixel.gif">',
  '<svg onload=alert(1)>',
  '<svg><use href="https://evil.example/a.svg#a"/></svg>',
  '<math><mi xlink:href="javascript:alert(1)">a</mi></math>',
  '<iframe srcdoc="<script>alert(1)</script>"></iframe>',
  '<object data="data:text/html,<script>alert(1)</script>"></object>',
  '<link rel=stylesheet href="https://evil.example/a.css">',
  '<meta http-equiv=refresh content="0;url=https://evil.example">',
  '<base href="https://evil.example/">',
  '<form action="https://evil.example"><button>Sign in</button></form>',
  '<input autofocus onfocus=alert(1)>',
  '<dialog open><h2>Your session has ended</h2></dialog>',
  '<a href="javascript:alert(1)">a</a>',
  '<style>@import url(https://evil.example/a.css)</style>',
  '<!--><img src=x onerror=alert(1)>-->',
  '<![CDATA[<img src=x onerror=alert(1)>]]>',
  '<noscript><p title="</noscript><img src=x onerror=alert(1)>">',
  '<template><img src=x onerror=alert(1)></template>',
  '</title><script>alert(1)</script>',
  '</script><script>alert(1)</script>',
  '</bdi></td></table><img src=x onerror=alert(1)>',
  '"><img src=x onerror=alert(1)>',
  '" onfocus=alert(1) autofocus x="',
  '&lt;script&gt;alert(1)&lt;/script&gt;',
  '&#60;img src=x onerror=alert(1)&#62;',
  '＜script＞alert(1)＜/script＞',
  'javascript:alert(1)',
  'data:text/html,<script>alert(1)</script>',
  '//evil.example/a.js',
  '#/keys',
  '../../keys',
  '?__proto__[x]=1',
  'expression(alert(1))',
  "';alert(1);//",
  `\${alert(1)}`,
  '{{constructor.constructor("alert(1)")()}}',
  '__proto__',
  'constructor',
  '{"__html":"<img src=x onerror=alert(1)>"}',
  'trustedTypes.createPolicy("default",{createHTML:a=>a})',
  "default'; script-src *; x '",
  'on\u200berror=alert(1)',
  'maria@example.com\u202emoc.elpmaxe@airam',
  'mar\u0456a@example.com',
  '\u2066\u2067\u2068\u2069\u200f\u061c',
  '\r\nset-cookie: consent_session=1',
  '\u2028alert(1)//',
]

/** `CONSENTCTL_TEST_HOSTILE=1`: all of them, and every page. */
const isWhole = process.env['CONSENTCTL_TEST_HOSTILE'] === '1'
const all = [...new Set([...markup, ...strangers])]
const perAccount = isWhole ? 50 : 12
const chosen = isWhole
  ? all
  : Array.from({ length: perAccount }, (_, index) => all[index * Math.floor(all.length / perAccount)] ?? '')
const accounts = Array.from({ length: Math.ceil(chosen.length / perAccount) }, (_, index) =>
  chosen.slice(index * perAccount, (index + 1) * perAccount),
)
const mostPages = isWhole ? 500 : 12

const isTyped = (text: string) => /^[^\0\r\n]{1,255}$/u.test(text) && text.isWellFormed()

describe.skipIf(!browserPath)('the dashboard › hostile text', () => {
  const dashboard = useDashboard()
  const { service } = dashboard

  /** Writes the texts into every field that a stranger or a program can write, as far as the service stores them. */
  async function write(account: TestAccount, texts: readonly string[]): Promise<string[]> {
    const headers = await service.signIn(account)
    const call = async (method: string, path: string, body: unknown) => {
      const answer = await service.call(method, `/api/v1/${path}`, { headers, body })
      expect([200, 201, 400]).toContain(answer.status)
      return answer.body
    }
    const site = `sites/${account.siteId}`
    const cut = (text: string, length: number) => [...text].slice(0, length).join('')
    const storable = texts.filter(text => text !== '' && text.isWellFormed() && !text.includes('\0'))
    const purposes = [...new Set(storable.map(text => cut(text, 255)))].map(text => ({ key: text, title: text }))
    await call('PUT', `${site}/notices/2`, { purposes, controller: storable.join(' ').slice(0, 1000).toWellFormed() })
    await call('PUT', `${site}/notices/2/texts/en`, mediaBytes(texts.join('\n').toWellFormed(), 'text/html'))
    await call('POST', `${site}/notices/2/publish`, {})
    const { key } = await call('POST', 'keys', { name: 'importer', scopes: ['write', 'import'] })
    const records = storable.map((text, index) => ({
      site_id: account.siteId,
      consent_id: text,
      subject_id: text,
      user_agent: text,
      accepted: index % 2 === 0,
      preferences: { [text]: text, list: [{ [text]: text }], [cut(`${text} answered`, 200)]: true },
      policy_version: 2,
    }))
    const imports = records.map(record => {
      const { subject_id: text } = record
      const origin = { system: cut(text, 64), id: cut(text, 255), evidence: text }
      return { ...record, origin, file_sha256: '0'.repeat(64), given_at: '2026-01-31T09:30:00Z' }
    })
    const ids: string[] = []
    for (const row of [...records, ...imports]) {
      const create = async (preferences: object) =>
        await service.call('POST', '/api/v1/consents/batch', { key, body: { records: [{ ...row, preferences }] } })
      const first = await create(row.preferences)
      // A key such as __proto__ makes a body ambiguous, which is rejected as a whole.
      const { body } = first.status === 200 ? first : await create({ value: row.subject_id })
      ids.push(...body.results.flatMap(({ consent }: { consent?: { id: string } }) => consent?.id ?? []))
    }
    for (const text of storable) {
      await call('POST', 'keys', { name: cut(text, 100) })
      await call('POST', 'sites', { name: cut(text, 100), allowed_origins: [text] })
      await call('POST', 'sites', { name: cut(text, 100) })
    }
    const tickets = [...new Set(storable.map(text => cut(text, 100)))]
    await call('POST', 'requests', {
      ...{ ticket: tickets.find(text => text.includes('<')) ?? 'none', kind: 'erasure', received_on: '2026-01-31' },
      subject_ids: storable.filter(isTyped).slice(0, 20),
    })
    const email = cut(storable[0] ?? 'none', 100).toLowerCase()
    await service.sql`update logins set email = ${email} where account_id = ${account.accountId}`
    return ids
  }

  async function go(page: Page, hash: string): Promise<void> {
    await page.evaluate(`new Promise(resolve => {
      if (location.hash === ${JSON.stringify(hash)}) resolve()
      addEventListener('hashchange', () => setTimeout(resolve), { once: true })
      location.hash = ${JSON.stringify(hash)}
    })`)
    await page.getByText('Loading …').first().waitFor({ state: 'detached' })
  }

  /** Expects that all text and every attribute is what `visible` makes of it. */
  async function expectVisible(page: Page): Promise<string> {
    const [texts, attributes] = await page.evaluate<[string[], string[]]>(`
      const walker = document.createTreeWalker(document.getElementById('app'), NodeFilter.SHOW_TEXT)
      const texts = []
      while (walker.nextNode()) texts.push(walker.currentNode.nodeValue)
      const elements = [...document.querySelectorAll('*')]
      ;[texts, elements.flatMap(({ attributes }) => [...attributes].map(({ value }) => value))]`)
    const deceiving = [...texts.flatMap(text => text.split(/[\n\t]/)), ...attributes].filter(
      text => visible(text) !== text,
    )
    expect([page.url(), deceiving]).toEqual([page.url(), []])
    return texts.join('\n')
  }

  it('is shown escaped and neither executes nor sends anything, in every field on every screen', async () => {
    let pages = 0
    let stored = 0
    for (const texts of accounts) {
      const account = await service.newAccount()
      const ids = await write(account, texts)
      stored += ids.length
      const page = await dashboard.open(account)
      const faults: string[] = []
      page.on('dialog', async dialog => {
        faults.push(`ran: ${dialog.message()}`)
        await dialog.dismiss()
      })
      page.on('popup', popup => faults.push(`opened: ${popup.url()}`))
      page.on('request', request => {
        const { pathname, protocol } = new URL(request.url())
        if (protocol !== 'blob:' && !/^\/($|api\/v1\/|dashboard\/)/.test(pathname))
          faults.push(`asked for: ${pathname}`)
      })
      const links = (within: string) =>
        page.locator(`${within} a[href^="#/"]`).evaluateAll(list => list.map(link => link.getAttribute('href') ?? ''))
      const seen = new Set<string>()
      const queue = [...(await links('nav')), ...ids.map(id => `#/records/${id}`)]
      for (let hash = queue.shift(); hash !== undefined && seen.size < mostPages; hash = queue.shift()) {
        if (seen.has(hash)) continue
        seen.add(hash)
        await go(page, hash)
        const shown = await expectVisible(page)
        const id = hash.replace(/^#\/records\//, '')
        if (ids.includes(id)) {
          const { body } = await service.call('GET', `/api/v1/consents/${id}`, { key: account.key })
          for (const text of [body.subject_id, body.consent_id, body.user_agent]) expect(shown).toContain(visible(text))
        }
        queue.push(...(await links('main')))
      }
      await go(page, '#/person')
      const identifiers = texts.filter(isTyped).slice(0, 20)
      await page.getByLabel('Identifiers of one person').fill(identifiers.join('\n'))
      await page.getByRole('button', { name: 'Find' }).click()
      await page.getByText('Loading …').first().waitFor({ state: 'detached' })
      const found = await expectVisible(page)
      for (const text of identifiers) expect(found).toContain(visible(text))
      await page.getByRole('region', { name: 'Open requests' }).waitFor()
      await go(page, '#/statistics')
      await page.getByLabel('Grouping').selectOption('preference')
      await page.getByLabel('Exact').check()
      await page.getByRole('button', { name: 'Show', exact: true }).click()
      await page.locator('table bdi').first().waitFor()
      await expectVisible(page)
      for (const id of ids.slice(0, isWhole ? ids.length : 3)) {
        await go(page, `#/records/${id}`)
        await page.getByRole('button', { name: 'Change …' }).click()
        await expectVisible(page)
        await page.keyboard.press('Escape')
      }
      await go(page, '#/audit')
      for (const [index, button] of (await page.getByRole('button', { name: 'Show entry' }).all()).entries()) {
        if (!isWhole && index > 1) break
        await button.click()
        await expectVisible(page)
        await page.keyboard.press('Escape')
      }
      pages += seen.size
      expect(faults).toEqual([])
    }
    expect(stored).toBeGreaterThan(chosen.length)
    if (isWhole) process.stderr.write(`${chosen.length} texts in ${stored} records, ${pages} pages\n`)
  }, 3_600_000)
})
