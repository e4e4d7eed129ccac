import { createHash } from 'node:crypto'
import { beforeEach, describe, expect, it } from 'vitest'
import type { DataSubjectRequest, RequestWithHistory } from '../../../src/contract/index.ts'
import { browserPath } from '../../support/browser.ts'
import { useDashboard } from '../../support/dashboard.ts'
import type { TestAccount } from '../../support/service.ts'

const day = (days: number) => new Date(Date.now() + days * 24 * 60 * 60 * 1000).toISOString().slice(0, 10)

describe.skipIf(!browserPath)('the dashboard › requests', () => {
  const dashboard = useDashboard()
  const { service, call } = dashboard
  let account: TestAccount
  beforeEach(async () => {
    account = await service.newAccount()
  })

  async function enter(ticket: string, draft: object = {}): Promise<DataSubjectRequest> {
    const given = { ticket, kind: 'erasure', subject_ids: ['maria@example.com'], received_on: day(-40), ...draft }
    const { status, body } = await call(account, 'POST', 'requests', given)
    expect(status).toBe(201)
    return body
  }

  async function create(): Promise<void> {
    const body = { site_id: account.siteId, subject_id: 'maria@example.com', accepted: true }
    expect((await service.call('POST', '/api/v1/consents', { key: account.key, body })).status).toBe(201)
  }

  const read = async (id: string): Promise<RequestWithHistory> => (await call(account, 'GET', `requests/${id}`)).body

  it('lists open requests by the day they are due, and closed ones apart', async () => {
    for (const [ticket, received] of [['DSR-2', -5] as const, ['DSR-1', -40] as const, ['DSR-3', -2] as const])
      await enter(ticket, { received_on: day(received) })
    const { id } = await enter('DSR-0')
    await call(account, 'PATCH', `requests/${id}`, { outcome: 'withdrawn' })
    const page = await dashboard.open(account, 'requests')
    const rows = page.getByRole('region').locator('tbody tr')
    await rows.first().waitFor()
    expect(await rows.getByRole('link').allInnerTexts()).toEqual(['DSR-1', 'DSR-2', 'DSR-3'])
    expect(await rows.first().innerText()).toMatch(/\d days? ago/)
    await dashboard.expectAccessible()
    await page.getByRole('link', { name: 'Closed requests' }).click()
    await page.getByRole('link', { name: 'DSR-0' }).waitFor()
    expect(await rows.innerText()).toContain('withdrawn')
    expect(new URL(page.url()).hash).toBe('#/requests/closed')
  })

  it('enters one, says why the service rejects it, and shows when it is due', async () => {
    const page = await dashboard.open(account, 'requests')
    await page.getByText('No request is open.').waitFor()
    await page.getByRole('button', { name: 'Enter a request' }).press('Enter')
    await page.getByLabel('Ticket').fill('DSR-7')
    await page.getByLabel('Kind').selectOption('access')
    await page.getByLabel('Identifiers of the person').fill('maria@example.com\nMaria@example.com')
    await page.getByLabel('Received').fill(day(3))
    await page.getByRole('button', { name: 'Enter the request' }).click()
    await page.getByRole('alert').waitFor()
    await dashboard.expectAccessible()
    await page.getByLabel('Received').fill(day(-1))
    const shown = `requests add --kind access --received ${day(-1)} --also Maria@example.com -- DSR-7 maria@example.com`
    await page.getByText(shown).waitFor()
    await page.getByRole('button', { name: 'Enter the request' }).click()
    await page.getByRole('heading', { name: 'Request', exact: true }).waitFor()
    const [made] = (await call(account, 'GET', 'requests')).body.data as DataSubjectRequest[]
    expect(made).toMatchObject({
      ticket: 'DSR-7',
      kind: 'access',
      subject_ids: ['maria@example.com', 'Maria@example.com'],
    })
    await page.getByText(made?.due_on ?? '').waitFor()
    expect(page.url()).toContain(made?.id)
    await dashboard.expectAccessible()
  })

  it('assigns, corrects, extends and closes one, and shows who did', async () => {
    const { id } = await enter('DSR-7', { received_on: day(-3) })
    const page = await dashboard.open(account, `requests/${id}`)
    await page.getByRole('button', { name: 'Assign or correct …' }).click()
    await page.getByLabel('Assigned to').fill('privacy team')
    await page.getByLabel('Kind').selectOption('objection')
    await page.getByRole('button', { name: 'Save' }).click()
    await expect.poll(() => read(id)).toMatchObject({ assignee: 'privacy team', kind: 'objection' })
    await page.getByRole('button', { name: 'Extend …' }).click()
    await dashboard.expectAccessible()
    await page.getByLabel('Reason').fill('many systems')
    await page.getByRole('button', { name: 'Extend by two months' }).click()
    await page.getByText('Extended because').waitFor()
    expect(await page.getByRole('button', { name: 'Extend …' }).count()).toBe(0)
    await page.getByRole('button', { name: 'Close …' }).click()
    await page.getByLabel('Outcome').selectOption('refused')
    await page.getByRole('button', { name: 'Close the request' }).press('Enter')
    await page.getByText('The reason is missing').waitFor()
    await dashboard.expectAccessible()
    await page.getByLabel('Reason').fill('manifestly unfounded')
    await page.getByRole('button', { name: 'Close the request' }).click()
    await page.getByText('removed when it was closed').waitFor()
    const closed = await read(id)
    expect(closed).toMatchObject({ state: 'closed', outcome: 'refused', outcome_reason: 'manifestly unfounded' })
    expect(closed.history.map(({ action }) => action)).toEqual(['created', 'updated', 'extended', 'closed'])
    for (const name of ['Close …', 'Answer it']) expect(await page.getByRole('button', { name }).count()).toBe(0)
  })

  it('from Start, erases, ties the certificates to the request, and closes it, in four clicks', async () => {
    await create()
    const { id } = await enter('DSR-7')
    const page = await dashboard.open(account)
    expect(await page.locator('h1').innerText()).toBe('Start')
    await page.getByRole('button', { name: 'Answer it: DSR-7' }).click()
    await page.getByText('It answers').waitFor()
    await page.getByLabel('Type 1 to erase').fill('1')
    await page.getByRole('button', { name: 'Erase 1 record' }).click()
    await page.getByText('The register has the digest of 1 certificate.').waitFor()
    const { name, bytes } = await dashboard.download(() =>
      page.getByRole('button', { name: /^Download erasure/ }).click(),
    )
    const { receipts } = await read(id)
    const sha256 = createHash('sha256').update(bytes).digest('hex')
    expect(name).toMatch(/^erasure-certificate-/)
    expect(receipts).toMatchObject([{ type: 'erasure_certificate', sha256 }])
    await page.getByRole('button', { name: 'Close DSR-7 …' }).click()
    await page.getByRole('button', { name: 'Close the request' }).press('Enter')
    await page.getByText('The reason is missing: the report states it.').waitFor()
    await page.getByLabel('Reason').fill('holidays')
    await page.getByRole('button', { name: 'Close the request' }).click()
    await page.getByText('It is closed.').waitFor()
    await dashboard.expectAccessible()
    expect(await read(id)).toMatchObject({ state: 'closed', outcome: 'done', subject_ids: null })
  })

  it('takes a typed ticket that the register has, unless it is closed, of another kind or of another person', async () => {
    await create()
    const { id } = await enter('DSR-7')
    await enter('DSR-8', { subject_ids: ['maria@example.com', 'other@example.com'] })
    await enter('DSR-10', { kind: 'access' })
    const { id: closed } = await enter('DSR-9')
    await call(account, 'PATCH', `requests/${closed}`, { outcome: 'withdrawn' })
    const page = await dashboard.open(account, 'person')
    await page.getByLabel('Identifiers of one person').fill('maria@example.com')
    await page.getByRole('button', { name: 'Find' }).click()
    await page.getByLabel('Type 1 to erase').fill('1')
    const erase = async (ticket: string) => {
      await page.getByLabel('Ticket').fill(ticket)
      await page.getByRole('button', { name: 'Erase 1 record' }).click()
    }
    await erase('DSR-8')
    await page.getByText('The request DSR-8 of the register has 1 other identifier').waitFor()
    await erase('DSR-9')
    await page.getByText('The request DSR-9 of the register is closed.').waitFor()
    await erase('DSR-10')
    await page.getByText('The request DSR-10 of the register asks for access.').waitFor()
    await erase('DSR-7')
    await page.getByText('The register has the digest of 1 certificate.').waitFor()
    expect((await read(id)).receipts).toHaveLength(1)
  })

  it('deletes nothing if the request was closed since it was shown', async () => {
    await create()
    const { id } = await enter('DSR-7')
    const page = await dashboard.open(account, 'requests')
    await page.getByRole('button', { name: 'Answer it: DSR-7' }).click()
    await page.getByText('It answers').waitFor()
    await call(account, 'PATCH', `requests/${id}`, { outcome: 'withdrawn' })
    await page.getByLabel('Type 1 to erase').fill('1')
    await page.getByRole('button', { name: 'Erase 1 record' }).click()
    await page.getByText('The request DSR-7 of the register is closed.').waitFor()
    const { body } = await service.call('GET', '/api/v1/consents', { key: account.key })
    expect(body.data).toHaveLength(1)
  })

  it('shows on Start what needs somebody: requests, answers, keys and webhooks', async () => {
    await enter('DSR-1')
    await enter('DSR-2', { received_on: day(0) })
    const key = { name: 'ci', expires_at: new Date(Date.now() + 5 * 24 * 60 * 60 * 1000).toISOString() }
    await call(account, 'POST', 'keys', key)
    await create()
    const page = await dashboard.open(account)
    await page.getByRole('link', { name: 'DSR-1' }).waitFor()
    await page.getByRole('rowheader', { name: 'ci' }).waitFor()
    await page.getByText('100.0 %').waitFor()
    expect(await page.getByRole('link', { name: 'DSR-2' }).count()).toBe(0)
    const own = ['/api/v1/requests', '/api/v1/stats', '/api/v1/keys', '/api/v1/webhooks']
    expect(dashboard.requests.filter(each => !each.endsWith('/session')).sort()).toEqual(
      own.map(path => `GET ${path}`).sort(),
    )
    await dashboard.expectAccessible()
  })
})
