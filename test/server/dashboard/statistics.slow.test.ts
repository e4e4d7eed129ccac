import { describe, expect, it } from 'vitest'
import { browserPath } from '../../support/browser.ts'
import { rejectionAt, useDashboard } from '../../support/dashboard.ts'
import type { TestAccount } from '../../support/service.ts'

describe.skipIf(!browserPath)('the dashboard › statistics', () => {
  const dashboard = useDashboard()
  const { service } = dashboard

  async function createMany(account: TestAccount, records: readonly object[]): Promise<void> {
    const rows = records.map(record => ({ site_id: account.siteId, ...record }))
    const { status } = await service.call('POST', '/api/v1/consents/batch', {
      key: account.key,
      headers: { prefer: 'return=minimal' },
      body: { records: rows },
    })
    expect(status).toBe(200)
  }

  const persons = (count: number, fields: object) =>
    Array.from({ length: count }, (_, index) => ({ subject_id: `person ${index}`, ...fields }))

  const show = () => dashboard.page.getByRole('button', { name: 'Show', exact: true }).click()

  /** The cells of each row, as a reader of the table gets them. */
  async function rows(): Promise<string[][]> {
    const found = await dashboard.page.locator('table tr').allInnerTexts()
    return found.map(row => row.split('\t').map(cell => cell.trim()))
  }

  it('shows the numbers of the API, and small groups only if Exact is selected', async () => {
    const account = await service.newAccount()
    await createMany(account, [
      ...persons(40, { accepted: true, preferences: { ads: true, rare: true } }).map((record, index) =>
        index < 4 ? record : { ...record, preferences: { ads: index % 4 === 0 } },
      ),
      {},
    ])
    const page = await dashboard.open(account, 'statistics')
    await page.getByText('In all 41 records of 40 persons. Everything is counted.').waitFor()
    const month = new Date().toISOString().slice(0, 7)
    expect(await rows()).toEqual([
      [
        'Month',
        'Records',
        'Persons',
        'Anonymous',
        'Accepted',
        'Refused',
        'Withdrawn',
        'Deleted',
        'Imported',
        'Rate',
        'Of the largest',
      ],
      [month, '41', '40', '1', '13', '28', '0', '0', '0', '31.7 %', ''],
    ])
    await page.getByText('consentctl stats --by month').waitFor()

    await page.getByLabel('Grouping').focus()
    await page.keyboard.type('By pref')
    await show()
    await page.getByText('1 group hidden: fewer than ten persons.').waitFor()
    expect(await rows()).toEqual([
      ['Preference', 'Records', 'Accepted', 'Refused', 'Withdrawn', 'Deleted', 'Imported', 'Rate', 'Of the largest'],
      ['ads', '40', '13', '27', '0', '0', '0', '32.5 %', ''],
      ['rare', '<10', '', '', '', '', '', '', ''],
    ])
    await dashboard.expectAccessible()
    await page.getByLabel('Exact').press('Space')
    await show()
    await page.getByText('consentctl stats --by preference --exact').waitFor()
    await page.getByRole('row', { name: 'rare 4' }).waitFor()
    expect((await rows())[2]).toEqual(['rare', '4', '4', '0', '0', '0', '0', '100.0 %', ''])
  })

  it('states how many groups are hidden and why, and is accessible', async () => {
    const account = await service.newAccount()
    const page = await dashboard.open(account, 'usage')
    const group = { site_id: null, site_name: null, persons: 20, anonymous: 0, withdrawn: 0, deleted: 0, imported: 0 }
    const shown = { ...group, records: 30, accepted: 20, refused: 10, hidden: null }
    const none = Object.fromEntries(Object.keys(shown).map(name => [name, null]))
    const groups = [
      { ...shown, group: '2025-12' },
      { ...none, group: '2026-03', hidden: 'small' },
      { ...none, group: '2026-04', hidden: 'remainder' },
    ]
    const answer = {
      complete: false,
      uncounted: 7,
      as_of: '2026-04-30T10:00:00.000Z',
      total: { ...shown, records: 40 },
      groups,
    }
    await page.route('**/api/v1/stats?*', route => route.fulfill({ json: answer }))
    await page.getByRole('link', { name: 'Statistics' }).click()
    await page
      .getByText(
        '1 group hidden: fewer than ten persons counted so far, and 1 more because their totals would reveal small groups.',
      )
      .waitFor()
    await page.getByText('Counted until 2026-04-30 10:00:00 UTC; 7 events not counted yet.').waitFor()
    const bars = page.locator('td progress')
    expect(await bars.evaluateAll(all => all.map(bar => Number(bar.getAttribute('value'))))).toEqual([30])
    expect((await rows()).map(row => row.slice(0, 3))).toEqual([
      ['Month', 'Records', 'Persons'],
      ['2026-04', '', 'hidden'],
      ['2026-03', '', '<10'],
      ['2025-12', '30', '20'],
    ])
    await dashboard.expectAccessible()
  })

  it('shows the newest hundred days, and earlier ones on request', async () => {
    const account = await service.newAccount()
    await createMany(account, persons(12, { accepted: true }))
    const page = await dashboard.open(account, 'usage')
    const days = Array.from({ length: 250 }, (_, day) =>
      new Date(Date.UTC(2024, 0, 1 + day)).toISOString().slice(0, 10),
    )
    const newestFirst = days.toReversed()
    await page.route('**/api/v1/stats?*', async route => {
      const response = await route.fetch()
      const answer = await response.json()
      await route.fulfill({
        response,
        json: { ...answer, groups: days.map(group => ({ ...answer.groups[0], group })) },
      })
    })
    await page.getByRole('link', { name: 'Statistics' }).click()
    await page.getByLabel('Grouping').selectOption('day')
    await show()
    const shown = () => page.locator('tbody th').allInnerTexts()
    await expect.poll(shown).toEqual(newestFirst.slice(0, 100))
    await page.getByRole('button', { name: 'Show 100 more' }).click()
    expect(await shown()).toEqual(newestFirst.slice(0, 200))
    await page.getByRole('button', { name: 'Show all 250' }).click()
    expect(await shown()).toEqual(newestFirst)
    expect(await page.getByRole('button', { name: 'Show', exact: false }).count()).toBe(1)
  })

  it('shows the last days, weeks or months at a click', async () => {
    const account = await service.newAccount()
    await createMany(account, persons(12, { accepted: true }))
    const page = await dashboard.open(account, 'statistics')
    const day = (days: number) => new Date(Date.now() - days * 24 * 60 * 60 * 1000).toISOString().slice(0, 10)
    for (const [name, days, by] of [
      ['7 days', 6, 'day'],
      ['Quarter', 90, 'week'],
    ] as const) {
      await page.getByRole('button', { name }).click()
      await page.getByText(`consentctl stats --from ${day(days)} --to ${day(0)} --by ${by}`).waitFor()
      await page.getByText('In all 12 records').waitFor()
    }
  })

  it('when a request fails, shows no numbers of earlier filters', async () => {
    const account = await service.newAccount()
    await createMany(account, persons(12, { accepted: true }))
    const page = await dashboard.open(account, 'statistics')
    await page.getByText('In all 12 records').waitFor()
    await page.getByLabel('From (UTC day)').fill('2026-02-01')
    await page.getByLabel('To (UTC day)').fill('2026-01-01')
    await show()
    await page.getByRole('alert').getByText('From (UTC day): must not be after To (UTC day)').waitFor()
    expect(await rejectionAt(page, 'From (UTC day)')).toBe('must not be after To (UTC day)')
    expect(await page.getByText('In all 12').count()).toBe(0)
    await page.getByLabel('To (UTC day)').fill('')
    await show()
    await page.getByText('consentctl stats --from 2026-02-01 --by month').waitFor()
    await page.getByText('In all 12 records').waitFor()
    await page.getByLabel('Site').selectOption(account.siteId)
    await show()
    await page.getByText(`consentctl stats --site ${account.siteId} --from 2026-02-01 --by month`).waitFor()
    await page.getByText('In all 12 records').waitFor()
  })
})
