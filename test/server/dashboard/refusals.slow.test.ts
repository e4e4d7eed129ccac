import type { Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { browserPath } from '../../support/browser.ts'
import { useDashboard } from '../../support/dashboard.ts'
import type { TestAccount } from '../../support/service.ts'

const password = 'correct horse battery staple'

describe.skipIf(!browserPath)('the dashboard › when something fails', () => {
  const dashboard = useDashboard()
  const { service } = dashboard

  async function keyNames(account: TestAccount): Promise<string[]> {
    const { body } = await service.call('GET', '/api/v1/keys', { headers: await service.signIn(account) })
    return body.data.map(({ name }: { name: string }) => name)
  }

  async function openForm(account: TestAccount, name: string): Promise<Page> {
    await dashboard.open(account, 'keys')
    await dashboard.page.getByRole('button', { name: 'Create a key' }).click()
    await dashboard.page.getByLabel('Name').fill(name)
    return dashboard.page
  }

  async function signIn(page: Page, account: TestAccount, secret = password): Promise<void> {
    await page.getByLabel('E-mail').fill(account.email)
    await page.getByLabel('Password').fill(secret)
    await page.getByRole('button', { name: 'Sign in' }).click()
  }

  const create = (page: Page) => page.getByRole('button', { name: 'Create the key' }).click()
  const alert = (page: Page) => page.getByRole('alert').last().innerText()

  it('when the password is wrong, says so and keeps the e-mail; after ten attempts, says when to retry', async () => {
    const account = await service.newAccount({ password })
    const page = await dashboard.open(null, 'usage')
    await signIn(page, account, 'wrong')
    expect(await alert(page)).toBe('The e-mail or the password is wrong.')
    await dashboard.expectAccessible()
    await signIn(page, account)
    await page.getByRole('heading', { name: 'Usage' }).waitFor()

    const other = await service.newAccount({ password })
    const body = { email: other.email, password: 'wrong' }
    for (let attempt = 0; attempt < 10; attempt += 1) await service.call('POST', '/api/v1/session', { body })
    await dashboard.open(null)
    await signIn(dashboard.page, other)
    expect(await alert(dashboard.page)).toContain('Try again in 15 minutes.')
    expect(await dashboard.page.getByLabel('E-mail').inputValue()).toBe(other.email)
  })

  it('when the session expires during an edit, hides the page and keeps the input for the same user', async () => {
    const account = await service.newAccount({ password })
    const page = await openForm(account, 'typed before')
    await service.sql`update users set session_version = session_version + 1 where id = ${account.userId}`
    await create(page)
    await page.getByRole('dialog', { name: 'Your session has ended' }).waitFor()
    await dashboard.expectAccessible()
    for (const media of ['print', 'screen'] as const) {
      await page.emulateMedia({ media })
      expect(await page.getByLabel('Name').isVisible()).toBe(false)
      expect(await page.getByText('Skip to the content').isVisible()).toBe(false)
    }
    for (const key of ['Escape', 'Escape']) await page.keyboard.press(key)
    expect(await page.getByLabel('E-mail').inputValue()).toBe(account.email)
    await signIn(page, account)
    await page.getByRole('dialog', { name: 'Your session has ended' }).waitFor({ state: 'detached' })
    expect(await keyNames(account)).toEqual(['a key'])
    await create(page)
    await page.getByText('The key typed before is created.').waitFor()
    expect(await keyNames(account)).toEqual(['typed before', 'a key'])
  })

  it('when another user signs in, shows no data of the first one', async () => {
    const [account, other] = [await service.newAccount({ password }), await service.newAccount({ password })]
    const page = await openForm(account, 'typed before')
    await service.sql`update users set session_version = session_version + 1 where id = ${account.userId}`
    await create(page)
    await signIn(page, other)
    await page.getByText(other.email).first().waitFor()
    await page.getByRole('heading', { level: 1 }).waitFor()
    expect(await page.content()).not.toContain(account.email)
    expect(new URL(page.url()).hash).toBe('')
  })

  it('when one of two tabs signs out or in, as the same or another user, the other follows immediately', async () => {
    const [account, other] = [await service.newAccount({ password }), await service.newAccount({ password })]
    const page = await openForm(account, 'typed before')
    const tab = await page.context().newPage()
    try {
      await tab.goto(`${service.url}/#/usage`)
      await tab.getByRole('button', { name: 'Sign out' }).click()
      await page.getByRole('dialog', { name: 'Your session has ended' }).waitFor()
      await signIn(tab, account)
      await page.getByRole('dialog', { name: 'Your session has ended' }).waitFor({ state: 'detached' })
      expect(await page.getByLabel('Name').inputValue()).toBe('typed before')
      await tab.getByRole('button', { name: 'Sign out' }).click()
      await signIn(tab, other)
      await page.getByText(other.email).first().waitFor()
      expect(await page.content()).not.toContain(account.email)
    } finally {
      await tab.close()
    }
  })

  it('when the script or style sheet is missing, says so and offers a reload', async () => {
    const page = await dashboard.open(null)
    const late = page.getByText('The page has not started yet.')
    const cdp = await page.context().newCDPSession(page)
    await cdp.send('Animation.enable')
    await cdp.send('Animation.setPlaybackRate', { playbackRate: 50 }) // it is shown after 5 s
    const missing = { error: 'not_found', message: 'Not found.' }
    for (const files of ['**/dashboard/app-*', '**/dashboard/app-*.js']) {
      await page.route(files, route => route.fulfill({ status: 404, json: missing }))
      await page.reload()
      await late.waitFor()
      await page.unroute(files)
      await late.getByRole('link', { name: 'load it again' }).click()
      await page.getByRole('heading', { name: 'Sign in' }).waitFor()
      expect(await late.count()).toBe(0)
    }
  })

  it('when the network is down at the first load, says so and works after a retry', async () => {
    const page = await dashboard.open(await service.newAccount(), 'usage')
    await page.route('**/api/**', route => route.abort())
    await page.reload()
    await page.getByRole('alert').waitFor({ timeout: 15_000 }) // reads are repeated before
    expect(await alert(page)).toContain('The service cannot be reached.')
    await dashboard.expectAccessible()
    await page.unroute('**/api/**')
    await page.getByRole('button', { name: 'Try again' }).click()
    await page.getByRole('heading', { name: 'Usage' }).waitFor()
  })

  it('when the response to a change is lost, says so and lists what was created', async () => {
    const account = await service.newAccount()
    const page = await openForm(account, 'lost')
    await page.route('**/api/v1/keys', async route => {
      if (route.request().method() === 'GET') return await route.continue()
      await route.fetch()
      await route.abort()
    })
    await create(page)
    expect(await alert(page)).toContain('The change may or may not have been made: check before you repeat it.')
    expect(await page.getByLabel('Name').inputValue()).toBe('lost')
    await page.getByRole('button', { name: 'Cancel' }).click()
    await page.getByRole('row', { name: 'lost' }).waitFor()
    expect(await keyNames(account)).toEqual(['lost', 'a key'])
  })

  it('when the service is overloaded, retries reads and sends a change once', async () => {
    const account = await service.newAccount()
    const page = await openForm(account, 'overloaded')
    let busy = 2
    await page.route('**/api/v1/keys', async route => {
      busy -= 1
      if (busy < 0) return await route.continue()
      const body = { error: 'unavailable', message: 'The service is busy.' }
      await route.fulfill({ status: 503, headers: { 'retry-after': '1' }, json: body })
    })
    dashboard.requests.length = 0
    await create(page)
    expect(await alert(page)).toMatch(/^The service is busy\. The change may or may not .* Try again in 1 s\./)
    await page.getByRole('row', { name: 'a key' }).waitFor({ state: 'attached' })
    expect(dashboard.requests.filter(request => request.startsWith('POST'))).toHaveLength(1)
    expect(await keyNames(account)).toEqual(['a key'])
  })

  it('when the user has become a reader, says so and neither changes nor loses anything', async () => {
    const account = await service.newAccount()
    const page = await openForm(account, 'by a reader')
    await service.sql`update users set role = 'reader' where id = ${account.userId}`
    await create(page)
    expect(await alert(page)).toContain('Nothing was changed.')
    expect(await page.getByLabel('Name').inputValue()).toBe('by a reader')
    expect(await keyNames(account)).toEqual(['a key'])
    await page.reload()
    await page.getByText('reader: sees all, changes nothing').waitFor()
    expect(await page.getByRole('button', { name: 'Create a key' }).count()).toBe(0)
  })

  it('when a button is double-clicked, sends one change', async () => {
    const account = await service.newAccount()
    const page = await openForm(account, 'once')
    await page.getByRole('button', { name: 'Create the key' }).dblclick()
    await page.getByText('The key once is created.').waitFor()
    expect(await keyNames(account)).toEqual(['once', 'a key'])
  })
})
