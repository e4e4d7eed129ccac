import { describe, expect, it } from 'vitest'
import { browserPath } from '../../support/browser.ts'
import { hide, rejectionAt, useDashboard } from '../../support/dashboard.ts'
import { mediaBytes, type TestAccount } from '../../support/service.ts'

describe.skipIf(!browserPath)('the dashboard › sites', () => {
  const dashboard = useDashboard()
  const { service, call } = dashboard

  const readSites = async (account: TestAccount) => (await call(account, 'GET', 'sites')).body.data
  const answerOf = async (token: string) => {
    const body = { subject_id: 'visitor', accepted: true }
    const path = '/api/v1/public/consent'
    return (await service.call('POST', path, { headers: { 'x-site-token': token }, body })).status
  }

  it('creates a site by keyboard alone, with a working token that is shown once', async () => {
    const account = await service.newAccount()
    const page = await dashboard.open(account, 'sites')
    await page.getByRole('row', { name: 'a site' }).waitFor()
    await dashboard.expectAccessible()
    await page.getByRole('link', { name: 'New site' }).press('Enter')
    await page.getByLabel('Name').focus()
    const typed = ['Shop', '2', 'https://shop.example\nhttps://www.shop.example', 'P400D']
    for (const [index, text] of typed.entries()) {
      if (index > 0) await page.keyboard.press('Tab')
      if (index === 1) await page.keyboard.press('Backspace')
      await page.keyboard.type(text)
    }
    await page
      .getByText('--name Shop --policy-version 2 --origin https://shop.example --origin https://www.shop.example')
      .waitFor()
    await dashboard.expectAccessible()
    await page.keyboard.press('Enter')
    const box = page.getByRole('group', { name: 'The token of the site.' })
    const token = await box.locator('code').innerText()
    const [site] = await readSites(account)
    expect(site).toMatchObject({
      name: 'Shop',
      policy_version: 2,
      allowed_origins: ['https://shop.example', 'https://www.shop.example'],
      retention: { period: 'P400D', after: 'withdrawal' },
      strict_notices: false,
    })
    expect(await answerOf(token)).toBe(201)
    const snippet = page.locator('pre')
    expect(await snippet.innerText()).toContain(`${service.url}/api/v1/public/consent`)
    await page.getByLabel('Banner').selectOption('klaro')
    expect(await snippet.innerText()).toContain(`const service = '${service.url}', token = '${token}'`)
    await page.getByText(`consentctl sites snippet ${site.id} --for klaro`).waitFor()
    await dashboard.expectAccessible()
    await hide(page)
    await page.getByText('It has left this page.').waitFor()
    expect(await page.content()).not.toContain(token)
  })

  it('sends only changed fields, and keeps what another tab has saved since', async () => {
    const account = await service.newAccount()
    const path = `sites/${account.siteId}`
    await call(account, 'PATCH', path, { allowed_origins: ['https://a.example'] })
    const page = await dashboard.open(account, path)
    await page.getByLabel('Name').fill('Shop')
    await page.getByLabel('Allowed origins').fill('https://a.example\nhttps://b.example')
    await call(account, 'PATCH', path, {
      policy_version: 7,
      allowed_origins: ['https://a.example', 'https://c.example'],
    })
    await page.getByText(`sites update ${account.siteId} --name Shop --add-origin https://b.example`).waitFor()
    await page.getByRole('button', { name: 'Save' }).press('Enter')
    await page.getByText('Saved.').waitFor()
    const expected = { name: 'Shop', policy_version: 7, retention: null }
    expect((await readSites(account))[0]).toMatchObject({
      ...expected,
      allowed_origins: ['https://a.example', 'https://c.example', 'https://b.example'],
    })
    expect(await page.getByLabel('Policy version', { exact: true }).inputValue()).toBe('7')

    await page.getByLabel('Name').fill('Shop 2')
    await call(account, 'PATCH', path, { name: 'Boutique' })
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('dialog').getByText('Another user has changed this since').waitFor()
    expect((await readSites(account))[0].name).toBe('Boutique')
    await page.getByRole('button', { name: 'Cancel' }).click()
    expect(await page.getByLabel('Name').inputValue()).toBe('Shop 2')
  })

  it('prompts before a change that deletes records or blocks pages, and sends nothing without confirmation', async () => {
    const days = (count: number) => ({ period: `P${count}D`, after: 'last_change' })
    const account = await service.newAccount()
    const path = `sites/${account.siteId}`
    await call(account, 'PATCH', path, { allowed_origins: ['https://a.example'], retention: days(365) })
    const page = await dashboard.open(account, path)
    await page.getByLabel('Retention').fill('P30D')
    await page.getByLabel('Allowed origins').fill('')
    await page.getByRole('button', { name: 'Save' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByText('Records will be deleted P30D after last change').waitFor()
    await dialog.getByText('Pages of these origins can record no consent any more: https://a.example').waitFor()
    await dashboard.expectAccessible()
    await page.keyboard.press('Escape')
    await dialog.waitFor({ state: 'detached' })
    expect((await readSites(account))[0]).toMatchObject({
      retention: days(365),
      allowed_origins: ['https://a.example'],
    })
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('button', { name: 'Save anyway' }).press('Enter')
    await page.getByText('Saved.').waitFor()
    expect((await readSites(account))[0]).toMatchObject({ retention: days(30), allowed_origins: [] })

    await page.getByLabel('Retention').fill('')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('Saved.').waitFor()
    expect((await readSites(account))[0].retention).toBeNull()

    await page.getByLabel('Strict notices').press('Space')
    await page.getByRole('button', { name: 'Save' }).click()
    await dialog.getByText('Consents to policy version 1 will be rejected until its notice is published').waitFor()
    await page.keyboard.press('Escape')
    const notice = `${path}/notices/1`
    await call(account, 'PUT', notice, {})
    await call(account, 'PUT', `${notice}/texts/en`, mediaBytes('Letters.', 'text/plain'))
    expect((await call(account, 'POST', `${notice}/publish`, {})).status).toBe(200)
    await page.getByRole('button', { name: 'Save' }).press('Enter')
    await page.getByText('Saved.').waitFor()
    expect(await page.locator(':focus').innerText()).toBe('Save')
    expect((await readSites(account))[0].strict_notices).toBe(true)
  })

  it('shows the service’s error at each field, and keeps the input', async () => {
    const account = await service.newAccount()
    const page = await dashboard.open(account, `sites/${account.siteId}`)
    await page.getByLabel('Retention').fill('30 days')
    await page.getByLabel('Allowed origins').fill('https://shop.example\nshop\nshop.example')
    await page.getByRole('button', { name: 'Save' }).click()
    const rejection = 'must be an origin, such as https://www.example.com'
    const period = 'must be an ISO 8601 duration of at most 100 years, such as P1Y or P90D'
    await page.getByText(`Allowed origins: ${rejection}; Retention period: ${period}`).waitFor()
    expect(await rejectionAt(page, 'Allowed origins')).toBe(rejection)
    expect(await rejectionAt(page, 'Retention period')).toBe(period)
    expect(await page.getByLabel('Retention').inputValue()).toBe('30 days')
  })

  it('rotates a token, and without an overlap only after confirmation', async () => {
    const account = await service.newAccount()
    const page = await dashboard.open(account, `sites/${account.siteId}`)
    const issue = page.getByRole('button', { name: 'Issue a new token' })
    const box = page.getByRole('group', { name: 'The new token of the site.' }).locator('code')
    await issue.click()
    const second = await box.innerText()
    expect([await answerOf(account.siteToken), await answerOf(second)]).toEqual([201, 201])
    await page.getByLabel('Hours until older tokens expire').fill('0')
    await page.getByText(`sites rotate-token ${account.siteId} --overlap 0`).waitFor()
    await issue.click()
    const dialog = page.getByRole('dialog')
    await dialog.getByText('Every page of the site records no consent').waitFor()
    expect(await answerOf(second)).toBe(201)
    await page.getByRole('button', { name: 'End it, and issue a new one' }).press('Enter')
    await dialog.waitFor({ state: 'detached' })
    await expect.poll(() => box.innerText()).not.toBe(second)
    const third = await box.innerText()
    const tokens = [account.siteToken, second, third]
    expect(await Promise.all(tokens.map(answerOf))).toEqual([401, 401, 201])
  })

  it('shows a reader everything but no controls to change it', async () => {
    const account = await service.newAccount()
    await service.sql`update users set role = 'reader' where account_id = ${account.accountId}`
    const page = await dashboard.open(account, 'sites')
    await page.getByRole('link', { name: 'a site' }).click()
    await page.getByText('Allowed origins').waitFor()
    expect(await page.getByRole('textbox').count()).toBe(0)
    expect(await page.getByRole('button').allInnerTexts()).toEqual(['Skip to the content', 'Sign out', 'Copy', 'Copy'])
    await page.goto(`${service.url}/#/sites/new`)
    await page.getByText('Only an owner can create sites.').waitFor()
    expect(await page.locator('.command').count()).toBe(0)
  })

  it('shows a publisher the screens of notices, sites and statistics, and an operator all, without controls of settings', async () => {
    const account = await service.newAccount()
    const screensOf = async (role: string) => {
      await service.sql`update users set role = ${role} where account_id = ${account.accountId}`
      const page = await dashboard.open(account, 'sites')
      await page.getByRole('link', { name: 'a site' }).waitFor()
      expect(await page.getByRole('link', { name: 'New site' }).count()).toBe(0)
      return await page.getByRole('navigation', { name: 'Screens' }).getByRole('link').allInnerTexts()
    }
    expect(await screensOf('publisher')).toEqual(['Start', 'Statistics', 'Notices', 'Sites'])
    expect(await screensOf('operator')).toHaveLength(11)
  })
})
