import { describe, expect, it } from 'vitest'
import { browserPath } from '../../support/browser.ts'
import { useDashboard } from '../../support/dashboard.ts'

describe.skipIf(!browserPath)('the dashboard › frame', () => {
  const dashboard = useDashboard()

  it('shows the usage to whoever is signed in', async () => {
    await dashboard.open(await dashboard.service.newAccount({ monthlyQuota: 1000 }), 'usage')
    await dashboard.page.getByText('1,000').first().waitFor()
    expect(await dashboard.page.getByRole('heading', { level: 1 }).innerText()).toBe('Usage')
    await dashboard.expectAccessible()
  })
})
