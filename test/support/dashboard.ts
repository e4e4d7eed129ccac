import { readFileSync } from 'node:fs'
import axe from 'axe-core'
import type { Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, expect } from 'vitest'
import { type Browser, openBrowser } from './browser.ts'
import { type ServiceOptions, type TestAccount, type TestService, useService } from './service.ts'

export interface DashboardTest {
  readonly service: TestService
  readonly page: Page
  /** Requests that the page has sent since it was opened, as `GET /api/v1/usage`. */
  readonly requests: string[]
  /** Opens a screen as the account's owner, without the sign-in form; null: signed out. `place` is of the form `records/ID`. */
  open(account: TestAccount | null, place?: string): Promise<Page>
  /** Sends a request with the session of the account's owner. `path` is without `/api/v1/`. */
  call(account: TestAccount, method: string, path: string, body?: unknown): ReturnType<TestService['call']>
  /** Returns the name and the content of the file that is downloaded after `start`. */
  download(start: () => Promise<unknown>): Promise<{ readonly name: string; readonly bytes: Buffer }>
  /** Expects no violation of WCAG 2.2 AA and best practice, in light and in dark. */
  expectAccessible(): Promise<void>
}

/** All that can differ between light and dark: the two have the same elements. */
const rulesOfColours = ['color-contrast', 'link-in-text-block']

/** Script of each document, before its own. */
const watchPolicy = `
  addEventListener('securitypolicyviolation', event => {
    reportViolation(event.violatedDirective + ' ' + event.blockedURI)
  })`

/**
 * The dashboard in a real browser, a new page for each test. A test fails if any page of it throws, breaks its security policy or sends
 * anything to another host.
 */
export function useDashboard(options: ServiceOptions = {}): DashboardTest {
  const service = useService(options)
  let browser: Browser
  let faults: string[] = []
  const test = { service, requests: [] as string[] } as { -readonly [K in keyof DashboardTest]: DashboardTest[K] }
  beforeAll(async () => {
    browser = await openBrowser()
  })
  afterAll(() => browser?.close())

  async function newPage(): Promise<Page> {
    if (test.page?.isClosed() === false) {
      await test.page.evaluate('0')
      await test.page.close()
    }
    await browser.context.clearCookies()
    const page = await browser.context.newPage()
    test.requests.length = 0
    page.on('pageerror', error => faults.push(`error: ${error.message}`))
    page.on('request', request => {
      const url = new URL(request.url())
      if (url.protocol !== 'blob:' && url.origin !== service.url) faults.push(`request: ${url.href}`)
      if (url.pathname.startsWith('/api/')) test.requests.push(`${request.method()} ${url.pathname}`)
    })
    await page.exposeFunction('reportViolation', (violation: string) => faults.push(`violation: ${violation}`))
    await page.addInitScript(watchPolicy)
    return page
  }

  test.open = async (account, place = '') => {
    test.page = await newPage()
    if (account) {
      const { cookie } = await service.signIn(account)
      const [name = '', value = ''] = cookie.split('=')
      await browser.context.addCookies([{ name, value, url: service.url, httpOnly: true, sameSite: 'Lax' }])
    }
    await test.page.goto(`${service.url}/#/${place}`)
    await test.page.getByRole('heading', { level: 1 }).waitFor()
    return test.page
  }

  test.call = async (account, method, path, body) =>
    await service.call(method, `/api/v1/${path}`, { headers: await service.signIn(account), body })

  test.download = async start => {
    const [file] = await Promise.all([test.page.waitForEvent('download'), start()])
    return { name: file.suggestedFilename(), bytes: readFileSync(await file.path()) }
  }

  test.expectAccessible = async () => {
    for (const colorScheme of ['light', 'dark'] as const) {
      await test.page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
      if (!(await test.page.evaluate('"axe" in globalThis'))) await test.page.evaluate(axe.source)
      const rules = colorScheme === 'light' ? '{}' : JSON.stringify({ runOnly: rulesOfColours })
      const { violations } = await test.page.evaluate<{ violations: Violation[] }>(`axe.run(${rules})`)
      const found = violations.flatMap(({ id, nodes }) =>
        nodes.map(({ html, failureSummary }) => ({ id, html, failureSummary })),
      )
      expect(found).toEqual([])
    }
  }

  afterEach(async () => {
    await test.page?.evaluate('0') // what was reported before has arrived
    const found = faults
    faults = []
    expect(found).toEqual([])
  })

  return test
}

/** Tells the page that it is hidden, as by another tab: a browser without a window hides none. */
export async function hide(page: Page): Promise<void> {
  await page.evaluate(`
    Object.defineProperty(document, 'visibilityState', { value: 'hidden', configurable: true })
    document.dispatchEvent(new Event('visibilitychange'))`)
}

export async function show(page: Page): Promise<void> {
  await page.evaluate(`
    delete document.visibilityState
    document.dispatchEvent(new Event('visibilitychange'))`)
}

/** Returns what a field's description says that the service rejects of it; null for nothing. */
export async function rejectionAt(page: Page, label: string): Promise<string | null> {
  const field = page.getByLabel(label, { exact: true })
  if ((await field.getAttribute('aria-invalid')) !== 'true') return null
  const id = await field.getAttribute('aria-describedby')
  return await page.locator(`[id="${id}"] strong`).innerText()
}

interface Violation {
  readonly id: string
  readonly nodes: readonly { readonly html: string; readonly failureSummary?: string }[]
}
