import { describe, expect, it } from 'vitest'
import { browserPath } from '../../support/browser.ts'
import { useDashboard } from '../../support/dashboard.ts'
import { mediaBytes, type TestAccount } from '../../support/service.ts'

describe.skipIf(!browserPath)('the dashboard › notices', () => {
  const dashboard = useDashboard()
  const { service } = dashboard

  const german = '# Zweck\r\n\r\nEin Brief im Monat.\r\n'
  const html = '\u{feff}<h1>Purpose</h1>\n<script>document.title = "run"</script>\n<p>\u202eletter\u202c</p>\n'

  async function accountWithNotices(): Promise<TestAccount> {
    const account = await service.newAccount()
    const call = async (method: string, rest: string, body: unknown) => {
      const { status } = await dashboard.call(account, method, `sites/${account.siteId}/notices/${rest}`, body)
      expect(status).toBe(200)
    }
    const purposes = [{ key: 'letters', title: 'Letters', language: 'en' }]
    await call('PUT', '1', {})
    await call('PUT', '1/texts/de', mediaBytes(german, 'text/markdown'))
    await call('POST', '1/publish', {})
    await call('PUT', '2', { purposes, valid_for: 'P1Y', controller: 'Shop GmbH' })
    await call('PUT', '2/texts/de', mediaBytes(german.replace('Monat', 'Jahr'), 'text/markdown'))
    await call('PUT', '2/texts/en', mediaBytes(html, 'text/html'))
    await call('PUT', '2/texts/fr', mediaBytes('%PDF-1.7', 'application/pdf'))
    return account
  }

  it('lists versions, shows a text as plain text, and downloads it byte for byte', async () => {
    const account = await accountWithNotices()
    const page = await dashboard.open(account, 'notices')
    await page.getByRole('row', { name: '2 draft de en fr letters P1Y' }).waitFor()
    expect(new URL(page.url()).hash).toBe(`#/notices/${account.siteId}`)
    await page.getByText(`consentctl notices list --site ${account.siteId}`).waitFor()
    await dashboard.expectAccessible()

    await page.getByRole('link', { name: '2', exact: true }).press('Enter')
    await page.getByText('Shop GmbH').waitFor()
    await dashboard.expectAccessible()
    await page.getByRole('link', { name: 'en', exact: true }).press('Enter')
    await page.getByText('shown as its source').waitFor()
    const shown = html.replace('\u{feff}', '\\u{feff}').replace('\u202e', '\\u{202e}').replace('\u202c', '\\u{202c}')
    expect(await page.locator('pre').textContent()).toBe(shown)
    expect(await page.title()).toBe('Text of notice 2 · consentctl')
    await page.getByText(`consentctl notices show 2 --site ${account.siteId} --lang en`).waitFor()
    await dashboard.expectAccessible()
    const file = await dashboard.download(() => page.getByRole('button', { name: 'Download en' }).press('Enter'))
    expect([file.name, file.bytes.toString()]).toEqual(['notice-2-en.html', html])

    await page.goto(`${service.url}/#/notices/${account.siteId}/2/text/fr`)
    await page.getByText('A PDF is not shown here').waitFor()
  })

  it('rejects a text whose digest differs from that of the notice', async () => {
    const account = await accountWithNotices()
    const page = await dashboard.open(account, `notices/${account.siteId}/1`)
    await page.route('**/texts/de', route => route.fulfill({ contentType: 'text/markdown', body: german.slice(1) }))
    await page.getByRole('link', { name: 'de', exact: true }).click()
    await page.getByRole('alert').getByText('its SHA-256 differs').waitFor()
    expect(await page.locator('pre').count()).toBe(0)
  })

  it('shows the differences between two versions with signs and words, like notices diff', async () => {
    const account = await accountWithNotices()
    const page = await dashboard.open(account, `notices/${account.siteId}/2`)
    await page.getByLabel('What differs from').selectOption('1')
    await page.getByRole('heading', { name: 'Text de' }).waitFor()
    const blocks = await page.locator('.lines').all()
    const [details, text, added] = await Promise.all(blocks.map(block => block.locator('> div').allTextContents()))
    expect(details?.map(line => line.replace(/sha256 .*/, 'sha256'))).toEqual([
      '~ changedtext de: text/markdown, 31 bytes, sha256',
      `+ addedtext en: text/html, ${Buffer.byteLength(html)} bytes, sha256`,
      '+ addedtext fr: application/pdf, 8 bytes, sha256',
      '+ addedpurpose letters (en): Letters',
      '~ changedcontroller: Shop GmbH (was null)',
      '~ changedvalid_for: P1Y (was null)',
    ])
    expect(text).toEqual(['line1 → 1', '# Zweck', '', '− removedEin Brief im Monat.', '+ addedEin Brief im Jahr.'])
    expect(added?.filter(line => line.startsWith('+ added'))).toHaveLength(3)
    await page.getByText('A PDF cannot be compared here').waitFor()
    await page.getByText(`consentctl notices diff 1 2 --site ${account.siteId}`).waitFor()
    await dashboard.expectAccessible()
  })

  it('lists who agreed to a version, and reports an unknown version', async () => {
    const account = await accountWithNotices()
    const body = { site_id: account.siteId, accepted: true, policy_version: 1 }
    for (const subject_id of ['maria@example.com', 'visitor'])
      await service.call('POST', '/api/v1/consents', { key: account.key, body: { ...body, subject_id } })
    const page = await dashboard.open(account, `notices/${account.siteId}/1`)
    await page.getByRole('link', { name: 'List who agreed' }).click()
    await page.getByRole('row', { name: 'maria@example.com' }).waitFor()
    expect(await page.locator('tbody tr').count()).toBe(2)
    await page.getByText(`consentctl notices who --version 1 --site ${account.siteId}`).waitFor()
    await dashboard.expectAccessible()
    await page.goto(`${service.url}/#/notices/${account.siteId}/7`)
    await page.getByRole('alert').getByText('There is no such notice').waitFor()
  })
})
