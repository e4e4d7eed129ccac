import { describe, expect, it } from 'vitest'
import { browserPath } from '../../support/browser.ts'
import { useDashboard } from '../../support/dashboard.ts'

/** Roles of what is used, and of what must be announced to be understood. */
const controls = new Set<unknown>(
  'button link textbox searchbox combobox listbox option checkbox radio spinbutton Date progressbar region dialog img'.split(
    ' ',
  ),
)

/** Script: what Tab should reach in the content. */
const tabbable = `[...document.querySelectorAll('main :is(a[href], button, input, select, textarea, summary, [tabindex])')]
  .filter(element => element.tabIndex >= 0 && !element.disabled && element.checkVisibility())`

describe.skipIf(!browserPath)('the dashboard › frame', () => {
  const dashboard = useDashboard()
  const { service } = dashboard

  it('moves the focus to the title of a screen, or past the navigation on request', async () => {
    const page = await dashboard.open(await service.newAccount(), 'usage')
    await page.getByRole('link', { name: 'Keys' }).press('Enter')
    await page.getByRole('heading', { name: 'Keys' }).waitFor()
    expect(await page.locator(':focus').innerText()).toBe('Keys')
    expect(await page.title()).toBe('Keys · consentctl')
    await page.goBack()
    await page.getByRole('heading', { name: 'Usage' }).waitFor()
    await page.getByRole('button', { name: 'Skip to the content' }).press('Enter')
    expect(await page.locator(':focus').getAttribute('id')).toBe('main')
  })

  it('is usable by keyboard alone, with a name for each control in the accessibility tree', async () => {
    const account = await service.newAccount({ monthlyQuota: 1000 })
    const body = {
      site_id: account.siteId,
      subject_id: 'maria@example.com',
      accepted: true,
      preferences: { news: true },
    }
    const { body: record } = await service.call('POST', '/api/v1/consents', { key: account.key, body })
    const page = await dashboard.open(account)
    const cdp = await page.context().newCDPSession(page)
    const titles = await page.getByRole('navigation', { name: 'Screens' }).getByRole('link').allInnerTexts()
    expect(titles).toHaveLength(11)
    for (const title of [...titles, 'Record']) {
      if (title === 'Record') {
        await page.goto(`${service.url}/#/records/${record.id}`)
        await page.getByRole('heading', { level: 1, name: title, exact: true }).waitFor()
        await page.keyboard.press('Shift+Tab')
      } else {
        for (let step = 0; step < 20 && (await page.locator(':focus').innerText()) !== title; step += 1)
          await page.keyboard.press('Shift+Tab')
        await page.keyboard.press('Enter')
        await page.getByRole('heading', { level: 1, name: title, exact: true }).waitFor()
        expect(await page.locator(':focus').innerText()).toBe(title)
      }
      await page.getByText('Loading …').first().waitFor({ state: 'detached' })
      const { nodes } = await cdp.send('Accessibility.getFullAXTree')
      const nameless = nodes.filter(
        ({ ignored, role, name }) => !ignored && controls.has(role?.value) && !String(name?.value ?? '').trim(),
      )
      expect([title, nameless.map(({ role }) => role?.value)]).toEqual([title, []])
      const reached = new Set<number>()
      for (let step = 0; step < 60; step += 1) {
        await page.keyboard.press('Tab')
        const index = await page.evaluate<number>(`${tabbable}.indexOf(document.activeElement)`)
        if (index < 0 && reached.size > 0) break
        reached.add(index)
      }
      reached.delete(-1)
      expect([title, reached.size]).toEqual([title, await page.evaluate(`${tabbable}.length`)])
      await page.getByRole('heading', { level: 1 }).focus()
    }
  })

  it('shows neither the text of an unknown address nor a command with it', async () => {
    const account = await service.newAccount()
    const page = await dashboard.open(account, 'records/--base-url=https%3A%2F%2Fevil.example')
    const site = `notices/${account.siteId}`
    for (const place of ['', 'notices/--site', `${site}/Your%20session`, `${site}/1/text/-x`, 'sites/x']) {
      if (place) {
        await page.goto(`${service.url}/#/${place}`)
        await page.reload()
      }
      await page.getByText('Check that the address is complete.').waitFor()
      expect([await page.getByRole('heading').innerText(), await page.title()]).toEqual([
        'There is no such page',
        'There is no such page · consentctl',
      ])
      expect(await page.locator('.command').count()).toBe(0)
    }
  })

  it('keeps the navigation when a screen fails', async () => {
    const page = await dashboard.open(await service.newAccount(), 'usage')
    await page.route('**/api/v1/keys', route => route.fulfill({ json: { data: null } }))
    await page.getByRole('link', { name: 'Keys' }).click()
    expect(await page.getByRole('alert').innerText()).toContain('The page failed.')
    await page.getByRole('link', { name: 'Usage' }).click()
    await page.getByRole('heading', { name: 'Usage' }).waitFor()
  })

  it('when Back restores the page from the browser’s cache, shows no secret', async () => {
    const page = await dashboard.open(await service.newAccount(), 'keys')
    await page.getByRole('button', { name: 'Create a key' }).click()
    await page.getByLabel('Name').fill('backend')
    await page.getByRole('button', { name: 'Create the key' }).click()
    const key = await page.getByRole('group').locator('code').innerText()
    expect(key).toMatch(/^sk-/)
    await page.goto(`${service.url}/live`)
    await page.goBack()
    await page.getByRole('row', { name: 'backend' }).waitFor()
    expect(await page.content()).not.toContain(key)
  })

  it('fits a phone and 200 % zoom with a long e-mail, and prints dark on white', async () => {
    const account = await service.newAccount()
    const email = `${'long.'.repeat(20)}name@example.com`
    await service.sql`update logins set email = ${email} where account_id = ${account.accountId}`
    const page = await dashboard.open(account, 'usage')
    const titles = await page.getByRole('navigation', { name: 'Screens' }).getByRole('link').allInnerTexts()
    for (const width of [320, 640]) {
      await page.setViewportSize({ width, height: 400 })
      for (const title of titles) {
        await page.getByRole('link', { name: title, exact: true }).click()
        await page.getByRole('heading', { level: 1, name: title }).waitFor()
        expect([title, await page.evaluate('document.documentElement.scrollWidth')]).toEqual([title, width])
      }
    }
    await page.emulateMedia({ media: 'print', colorScheme: 'dark' })
    expect(await page.evaluate('getComputedStyle(document.body).color')).toBe('rgb(22, 32, 31)')
    expect(await page.getByRole('navigation', { name: 'Screens' }).count()).toBe(0)
  })
})
