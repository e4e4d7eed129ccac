import { createHash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { browserPath } from '../../support/browser.ts'
import { hide, rejectionAt, useDashboard } from '../../support/dashboard.ts'

describe.skipIf(!browserPath)('the dashboard', () => {
  const dashboard = useDashboard()
  const { service, call } = dashboard

  describe('keys', () => {
    it('creates a working key by keyboard alone, and shows it once', async () => {
      const account = await service.newAccount()
      const page = await dashboard.open(account, 'keys')
      await page.getByRole('button', { name: 'Create a key' }).press('Enter')
      await page.keyboard.type('backend')
      await dashboard.expectAccessible()
      for (const key of ['Tab', 'Tab', 'Space', 'Enter']) await page.keyboard.press(key) // `write`, too
      const box = page.getByRole('group', { name: 'The key backend is created.' })
      await box.waitFor()
      expect(await page.locator(':focus').innerText()).toBe(await box.innerText())
      await dashboard.expectAccessible()
      const key = await box.locator('code').innerText()
      const { body } = await service.call('GET', '/api/v1/usage', { key })
      expect(body).toMatchObject({ limit: null })
      const { data } = (await call(account, 'GET', 'keys')).body
      expect(data[0]).toMatchObject({ name: 'backend', scopes: ['read', 'write'], expires_at: null })
      expect(await page.getByRole('row', { name: 'backend' }).innerText()).toContain('read, write')
      await hide(page)
      await page.getByText('It has left this page.').waitFor()
      expect(await page.content()).not.toContain(key)
    })

    it('creates a key for one of two sites, and shows its site', async () => {
      const account = await service.newAccount()
      const { id } = (await call(account, 'POST', 'sites', { name: 'Blog' })).body
      const page = await dashboard.open(account, 'keys')
      await page.getByRole('button', { name: 'Create a key' }).click()
      await page.getByLabel('Name').fill('agency')
      await page.getByLabel('Blog').check()
      await dashboard.expectAccessible()
      await page.getByRole('button', { name: 'Create the key' }).click()
      await page.getByRole('group', { name: 'The key agency is created.' }).waitFor()
      expect(await page.getByRole('row', { name: 'agency' }).innerText()).toContain('Blog')
      expect((await call(account, 'GET', 'keys')).body.data[0]).toMatchObject({ site_ids: [id] })
    })

    it('shows why the service rejects an expiry, and keeps the input', async () => {
      const page = await dashboard.open(await service.newAccount(), 'keys')
      await page.getByRole('button', { name: 'Create a key' }).click()
      await page.getByLabel('Name').fill('ci')
      await page.getByLabel('Expires').fill('2020-01-31')
      await page.getByRole('button', { name: 'Create the key' }).click()
      const rejection = 'must be in the future, and before the year 10000'
      expect(await page.getByRole('alert').innerText()).toBe(`Expires: ${rejection}`)
      expect(await rejectionAt(page, 'Expires')).toBe(rejection)
      expect(await rejectionAt(page, 'Name')).toBe(null)
      await dashboard.expectAccessible()
      expect(await page.getByLabel('Name').inputValue()).toBe('ci')
    })

    it('revokes a key after confirmation, and keeps the focus on the screen', async () => {
      const account = await service.newAccount()
      const page = await dashboard.open(account, 'keys')
      await page.getByRole('button', { name: 'Revoke a key' }).click()
      await page.getByRole('dialog').waitFor()
      await page.keyboard.press('Escape')
      await page.getByRole('dialog').waitFor({ state: 'detached' })
      expect(await page.locator(':focus').getAttribute('aria-label')).toBe('Revoke a key')
      await page.keyboard.press('Enter')
      await dashboard.expectAccessible()
      await page.getByRole('button', { name: 'Revoke the key' }).click()
      await page.getByRole('dialog').waitFor({ state: 'detached' })
      expect(await page.locator(':focus').innerText()).toBe('Keys')
      expect(await page.getByRole('row', { name: 'a key' }).innerText()).toContain('revoked')
      expect((await call(account, 'GET', 'keys')).body.data[0].revoked_at).not.toBeNull()
    })
  })

  describe('audit', () => {
    it('lists changes in words, with the command’s filters, paging in both directions and entries in full', async () => {
      const account = await service.newAccount()
      for (let count = 0; count < 55; count += 1) await call(account, 'POST', 'keys', { name: `key ${count}` })
      const page = await dashboard.open(account, 'audit')
      const rows = page.locator('tbody tr')
      await page.getByText('key key 54').waitFor()
      await dashboard.expectAccessible()
      await page.getByRole('button', { name: 'Older' }).press('Enter')
      await page.getByText('Page 2').waitFor()
      await rows.last().filter({ hasText: 'account created' }).waitFor()
      await page.getByRole('button', { name: 'Newer' }).press('Enter')
      await page.getByText('key key 54').waitFor()
      expect(await rows.count()).toBe(50)

      await page.getByLabel('Change', { exact: true }).selectOption('key_created')
      await page.getByLabel('By', { exact: true }).fill(account.email)
      await page.getByLabel('From').fill('2020-01-31')
      await page.getByRole('button', { name: 'Show', exact: true }).click()
      await page
        .getByText(`consentctl audit list --actor ${account.email} --action key_created --from 2020-01-31`)
        .waitFor()
      await page.getByLabel('By', { exact: true }).fill('admin')
      await page.getByLabel('By', { exact: true }).press('Enter')
      await page.getByText('There are no such changes.').waitFor()

      await page.goto(`${service.url}/#/usage`)
      await page.getByRole('heading', { name: 'Usage' }).waitFor()
      await page.goto(`${service.url}/#/audit`)
      await rows.first().getByRole('button').click()
      await dashboard.expectAccessible()
      const { bytes } = await dashboard.download(() =>
        page.getByRole('button', { name: 'Download the document' }).click(),
      )
      const [newest] = (await call(account, 'GET', 'audit?limit=1')).body.data
      expect(bytes.toString()).toBe(newest.document)
      expect(await page.getByRole('dialog').innerText()).toContain(createHash('sha256').update(bytes).digest('hex'))

      await call(account, 'PATCH', `sites/${account.siteId}`, { retention: { period: 'P30D', after: 'last_change' } })
      await page.goto(`${service.url}/#/usage`)
      await page.getByRole('heading', { name: 'Usage' }).waitFor()
      await page.goto(`${service.url}/#/audit`)
      await page.getByText(`site ${account.siteId} (now `).waitFor()
    })

    it('says what changed, and links the site', async () => {
      const account = await service.newAccount()
      const site = `sites/${account.siteId}`
      await call(account, 'PATCH', site, { allowed_origins: ['https://old.example'] })
      await call(account, 'PATCH', site, { allowed_origins: ['https://new.example'], policy_version: 2 })
      const page = await dashboard.open(account, 'audit')
      const row = page.locator('tbody tr').first()
      await row.getByText('+https://new.example −https://old.example').waitFor()
      expect(await row.innerText()).toContain('policy version 1 → 2')
      await row.getByRole('link', { name: account.siteId }).click()
      await expect.poll(() => new URL(page.url()).hash).toBe(`#/sites/${account.siteId}`)
    })
  })

  describe('usage', () => {
    it('when the quota is used up, says so and keeps working', async () => {
      const account = await service.newAccount({ monthlyQuota: 1 })
      await service.call('GET', '/api/v1/consents', { key: account.key })
      await dashboard.open(account, 'usage')
      await dashboard.page.getByText('This month’s quota is used up').waitFor()
      await dashboard.expectAccessible()
      await dashboard.page.getByRole('link', { name: 'Keys' }).click()
      await dashboard.page.getByRole('row', { name: 'a key' }).waitFor()
    })
  })
})
