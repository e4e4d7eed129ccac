import { describe, expect, it } from 'vitest'
import { browserPath } from '../../support/browser.ts'
import { useDashboard } from '../../support/dashboard.ts'
import type { TestAccount } from '../../support/service.ts'

describe.skipIf(!browserPath)('the dashboard › a record', () => {
  const dashboard = useDashboard()

  async function create(account: TestAccount, draft: Record<string, unknown> = {}): Promise<string> {
    const { body } = await dashboard.service.call('POST', '/api/v1/consents', {
      key: account.key,
      body: {
        site_id: account.siteId,
        subject_id: 'maria@example.com',
        accepted: true,
        preferences: { marketing: true },
        ...draft,
      },
    })
    return body.id
  }

  it('shows its fields, its history and its state at a moment', async () => {
    const account = await dashboard.service.newAccount()
    const id = await create(account)
    await dashboard.service.call('PUT', `/api/v1/consents/${id}`, {
      key: account.key,
      body: { accepted: false, preferences: { marketing: false } },
    })
    await dashboard.open(account, `records/${id}`)
    const { page } = dashboard
    await page.getByText('marketing: true → false').waitFor()
    await page.getByRole('button', { name: 'Show the record then' }).first().click()
    expect(await page.locator('.moment').innerText()).toContain('marketing: true')
    await dashboard.expectAccessible()
  })
})
