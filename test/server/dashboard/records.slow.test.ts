import { describe, expect, it } from 'vitest'
import { browserPath } from '../../support/browser.ts'
import { rejectionAt, useDashboard } from '../../support/dashboard.ts'
import { newImporter } from '../consents/imports.ts'
import { publishNotice } from '../consents/notices.ts'

describe.skipIf(!browserPath)('the dashboard › records', () => {
  const dashboard = useDashboard()
  const { service } = dashboard

  async function press(...keys: string[]): Promise<void> {
    for (const key of keys) await dashboard.page.keyboard.press(key)
  }

  const text = (selector: string) => dashboard.page.locator(selector).innerText()
  const button = (name: string) => dashboard.page.getByRole('button', { name })
  const command = async () =>
    (await dashboard.page.locator('.command code').last().innerText()).replace('consentctl ', '')

  it('changes, deletes and restores a record by keyboard alone', async () => {
    const owner = await newImporter(service)
    const subject_id = 'maria@example.com'
    const preferences = { marketing: true, 'über uns': 'none' }
    const { id } = await owner.create({ subject_id, accepted: true, preferences })
    const page = await dashboard.open(owner, `records/${id}`)

    await button('Change …').focus()
    await press('Enter', 'n', 'Tab', 'f', 'Tab')
    await page.keyboard.type('9007199254740993')
    await press('Enter')
    expect(await page.getByRole('alert').innerText()).toContain('would be kept as 9007199254740992')
    await page.keyboard.press('ControlOrMeta+a')
    await page.keyboard.type('none')
    await owner.update(id, { preferences: { ...preferences, profiling: true } }) // by a colleague meanwhile
    expect(await text('dialog .command code')).toBe(`consentctl update ${id} --refused --pref marketing=false`)
    await press('Enter')
    await page.getByText('Changed.').waitFor()
    expect((await owner.get(id)).body).toMatchObject({
      accepted: false,
      preferences: { marketing: false, 'über uns': 'none', profiling: true },
    })
    await expect
      .poll(() => text('.timeline > li:last-child'))
      .toMatch(
        /^withdrawn .* by \S+@example.com\n\naccepted: yes → no\nmarketing withdrawn\n.*consent: given → withdrawn\n/s,
      )

    await button('Delete …').focus()
    await press('Enter')
    await page.getByText(`${id}, subject ${subject_id}`).waitFor()
    await dashboard.expectAccessible()
    await press('Enter')
    await page.getByText('Deleted.').waitFor()
    expect((await owner.get(id)).status).toBe(404)

    await service.call('POST', '/api/v1/subjects/erase', { key: owner.key, body: { subject_id } })
    await button('Restore …').waitFor()
    await press('Tab', 'Enter', 'Tab', 'Enter')
    await page.getByText('An erasure request covers this record.').waitFor()
    expect((await owner.get(id)).status).toBe(404)
    await press('Shift+Tab', 'Space', 'Tab', 'Enter')
    await page.getByText('Restored.').waitFor()
    expect((await owner.get(id)).body).toMatchObject({ id, deleted_at: null })
    await page.getByText('restored despite an erasure request').waitFor()
  })

  it('shows a record at a moment, an import as its importer reported it, and downloads the receipt byte for byte', async () => {
    const importer = await newImporter(service)
    const id = await importer.importOne({
      changes: [{ given_at: '2022-01-01T00:00:00Z', accepted: false, preferences: { marketing: false } }],
    })
    const page = await dashboard.open(importer, `records/${id}`)
    expect(await text('dl')).toContain('usercentrics')
    expect(await text('.timeline')).toContain(
      'The person answered at 2021-03-04 05:06:07 UTC, as reported by the importer.',
    )

    await page.locator('.timeline').getByRole('button').first().press('Enter')
    expect(await text('.moment')).toMatch(
      /2021-03-04 05:06:07 UTC, as reported by the importer.*imported from usercentrics.*marketing: true/s,
    )
    expect(await text(':focus')).toBe('At a moment')
    expect(await command()).toBe(`get ${id} --at 2021-03-04T05:06:07.891Z --include-deleted`)
    await page.locator('.timeline').getByRole('button').nth(1).click()
    expect(await text('.moment')).toContain('marketing: false')
    await dashboard.expectAccessible()

    const receipt = page.waitForResponse(/\/receipt$/)
    const { name, bytes } = await dashboard.download(() => button('Download the receipt').click())
    expect([name, bytes]).toEqual([`receipt-${id}.json`, await (await receipt).body()])

    await importer.create({ subject_id: 'max@example.com ', accepted: true })
    await page.getByRole('link', { name: 'Records', exact: true }).click()
    const cells = async (name: string) =>
      await page
        .getByRole('row', { name })
        .getByRole('cell')
        .filter({ has: page.locator('time') })
        .innerText()
    expect(await cells('subject of')).toBe('2022-01-01 00:00:00 UTC answered, as imported')
    expect(await cells('max@example.com\\u{20}')).toMatch(/^20\S+ \S+ UTC$/)
  })

  it('shows what is left after a purge, reports an unknown id, and offers readers no changes', async () => {
    const owner = await newImporter(service)
    await publishNotice(service, owner, { version: 1, languages: ['de'], validFor: 'P1Y' })
    const draft = { subject_id: 'max@example.com', accepted: true, preferences: { ads: true }, notice_locale: 'de' }
    const { id } = await owner.create(draft)
    await service.sql`update users set role = 'reader' where id = ${owner.userId}`
    const page = await dashboard.open(owner, `records/${id}`)
    expect(await page.locator('main').getByRole('button', { name: '…' }).count()).toBe(0)
    const details = await text('dl')
    expect(details).toMatch(/valid for P1Y, shown in de/)
    expect(await page.getByRole('link', { name: 'version 1' }).getAttribute('href')).toBe(`#/notices/${owner.siteId}/1`)
    expect(details).toMatch(/Valid until\n20\d\d-/)

    await owner.remove(id)
    await service.call('POST', '/api/v1/subjects/purge', { key: owner.key, body: { ids: [id] } })
    await page.reload()
    await page.getByText('its preferences and its subject are gone').waitFor()
    expect(await text('main')).not.toMatch(/max@example.com|ads/)

    await dashboard.open(owner, 'records/01939d2c-7b1a-7c3e-9a51-2f6a1f0d9b11')
    expect(await dashboard.page.getByRole('alert').innerText()).toContain('has no record with the id')
  })

  it('filters like the command, keeps filters out of the address, and restores them after viewing a record', async () => {
    const owner = await newImporter(service)
    const kept = await owner.create({ subject_id: 'maria@example.com', consent_id: 'cookies', accepted: true })
    await owner.create({ subject_id: 'maria@example.com', accepted: false })
    const { id } = await owner.create({ accepted: true })
    const page = await dashboard.open(owner, 'usage')
    const refused = { error: 'forbidden', message: 'The key must have the scope read.' }
    await page.route('**/stats/count*', route => route.fulfill({ status: 403, json: refused }), { times: 1 })
    await page.getByRole('link', { name: 'Records' }).click()
    await page.getByText('The number is not known.').waitFor()
    await button('Show').click()
    await page.getByText('3 records').waitFor()
    await page
      .getByRole('link')
      .filter({ hasText: `none (${id})` })
      .waitFor()
    await page.getByLabel('Accepted').focus()
    await press('y', 'Shift+Tab')
    await page.keyboard.type('maria@example.com')
    await press('Enter')
    await page.getByText('1 record', { exact: true }).waitFor()
    expect(await command()).toBe('list --subject maria@example.com --accepted')
    await page.getByRole('link', { name: 'maria@example.com' }).press('Enter')
    await page.getByRole('heading', { name: 'Record', exact: true }).waitFor()
    expect(page.url()).toBe(`${service.url}/#/records/${kept.id}`)
    await page.goBack()
    await page.getByText('1 record', { exact: true }).waitFor()
    expect(await page.getByLabel('Subject').inputValue()).toBe('maria@example.com')
    expect(page.url()).toBe(`${service.url}/#/records`)

    await page.getByText('More filters').click()
    await dashboard.expectAccessible()
    await page.getByLabel('Created until (UTC)').fill('2020-01-31')
    await page.getByLabel('Created from (UTC)').fill('2020-02-01')
    await button('Show').click()
    await page.getByText('Created from (UTC): must not be after Created until (UTC)').waitFor()
    expect(await rejectionAt(page, 'Created from (UTC)')).toBe('must not be after Created until (UTC)')
    await page.getByLabel('Created from (UTC)').fill('')
    await button('Show').click()
    await page.getByText('No records.').waitFor()
    await page.getByLabel('Validity').selectOption('30d')
    await button('Show').click()
    expect(await command()).toBe('list --expiring 30d')
    expect(dashboard.requests.filter(each => !each.startsWith('GET '))).toEqual([])
  })

  it('shows one page at a time, and returns to it from a record', async () => {
    const owner = await newImporter(service)
    const records = Array.from({ length: 120 }, (_, index) => ({
      ...{ site_id: owner.siteId, subject_id: `person-${index}`, accepted: index % 3 === 0 },
      preferences: { marketing: true, comment: 'long '.repeat(1000) },
    }))
    await owner.send('POST', '/batch', { body: { records } })
    const page = await dashboard.open(owner, 'records')
    await page.getByText('120 records').waitFor()
    const people = async () => await page.locator('tbody th').allInnerTexts()
    const from = (first: number, count: number) =>
      Array.from({ length: count }, (_, index) => `person-${first - index}`)
    await expect.poll(people).toEqual(from(119, 50))
    await button('Older').click()
    await expect.poll(people).toEqual(from(69, 50))
    await button('Older').click()
    await expect.poll(people).toEqual(from(19, 20))
    expect(await button('Older').getAttribute('aria-disabled')).toBe('true')
    await button('Newer').click()
    await expect.poll(people).toEqual(from(69, 50))
    await page.getByRole('link', { name: 'person-42' }).click()
    await page.getByRole('heading', { name: 'Record', exact: true }).waitFor()
    await page.goBack()
    await page.getByText('Page 2').waitFor()
    await expect.poll(people).toEqual(from(69, 50))
    await page.setViewportSize({ width: 360, height: 700 })
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(360)
    expect(await page.getByRole('row').nth(1).innerText()).toMatch(/comment: (long )+l …$/)
    await button('Show').click()
    await expect.poll(people).toEqual(from(119, 50))
  })
})
