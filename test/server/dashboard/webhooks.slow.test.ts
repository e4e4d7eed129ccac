import { pino } from 'pino'
import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import { coverAccount } from '../../../server/evidence/log.ts'
import { openSigner } from '../../../server/evidence/signer.ts'
import { Dispatcher } from '../../../server/webhooks/dispatcher.ts'
import type { NewWebhook, WebhookDetails } from '../../../src/contract/index.ts'
import { browserPath } from '../../support/browser.ts'
import { hide, rejectionAt, useDashboard } from '../../support/dashboard.ts'
import type { TestAccount } from '../../support/service.ts'
import { local, useReceiver, verify } from '../webhooks/receiver.ts'

describe.skipIf(!browserPath)('the dashboard › webhooks', () => {
  const sender = local()
  const dashboard = useDashboard({ sender })
  const receiver = useReceiver()
  const { service, call } = dashboard
  beforeEach(() => service.sql`delete from webhooks`)
  afterAll(() => sender.close())

  async function deliver(): Promise<void> {
    const node = new Dispatcher({ ...service, sender, logger: pino({ level: 'silent' }), now: () => Date.now() + 1 })
    await node.job.run(new AbortController().signal)
    await node.ended()
  }

  async function newWebhook(account: TestAccount, draft: object = {}): Promise<NewWebhook> {
    const { status, body } = await call(account, 'POST', 'webhooks', { url: receiver.url, ...draft })
    expect(status).toBe(201)
    return body as NewWebhook
  }

  const read = async (account: TestAccount, id: string): Promise<WebhookDetails> =>
    (await call(account, 'GET', `webhooks/${id}`)).body

  it('creates one for some types and a site, says why a URL is rejected, and shows the secret once', async () => {
    const account = await service.newAccount()
    const { id: site } = (await call(account, 'POST', 'sites', { name: 'Blog' })).body
    const page = await dashboard.open(account, 'webhooks')
    await page.getByText('The account has no webhooks.').waitFor()
    await page.getByRole('button', { name: 'Create a webhook' }).press('Enter')
    await page.getByLabel('URL').fill('http://crm.example/consents')
    await page.getByLabel('Types of events').fill('withdrawn, gone')
    await page.getByLabel('Blog').check()
    await page
      .getByText(`webhooks create http://crm.example/consents --type withdrawn --type gone --site ${site}`)
      .waitFor()
    await page.getByRole('button', { name: 'Create the webhook' }).click()
    await page.getByRole('alert').waitFor()
    expect(await rejectionAt(page, 'Types of events')).toContain('must be created, imported')
    await dashboard.expectAccessible()
    await page.getByLabel('Types of events').fill('withdrawn erased')
    await page.getByRole('button', { name: 'Create the webhook' }).click()
    await expect.poll(() => rejectionAt(page, 'URL')).toContain('must begin with https://')
    await page.getByLabel('URL').fill(receiver.url)
    await page.getByLabel('URL').press('Enter')

    const box = page.getByRole('group', { name: `The secret of ${receiver.url}.` })
    const secret = await box.locator('code').innerText()
    expect(await page.locator(':focus').innerText()).toBe(await box.innerText())
    await dashboard.expectAccessible()
    const row = await page.getByRole('row', { name: receiver.url }).innerText()
    for (const text of ['active', 'withdrawn, erased', 'Blog']) expect(row).toContain(text)
    const [created] = (await call(account, 'GET', 'webhooks')).body.data
    expect(created).toMatchObject({ url: receiver.url, types: ['withdrawn', 'erased'], site_ids: [site] })
    await call(account, 'POST', `webhooks/${created.id}/test`)
    for (const delivery of receiver.deliveries) expect(verify(secret, delivery)).toEqual({ type: 'test' })
    expect(receiver.deliveries).toHaveLength(1)
    await hide(page)
    await page.getByText('It has left this page.').waitFor()
    expect(await page.content()).not.toContain(secret)
  })

  it('sends a test, and shows the answer', async () => {
    const account = await service.newAccount()
    const { id } = await newWebhook(account)
    const page = await dashboard.open(account, 'webhooks')
    await page.getByRole('link', { name: receiver.url }).click()
    const test = page.getByRole('button', { name: 'Send a test' })
    await test.press('Enter')
    await page.getByText(/^Test: answered 204, \d+ ms\.$/).waitFor()
    receiver.answer = () => 503
    await test.press('Enter')
    await page.getByText(/^Test: answered 503, \d+ ms\.$/).waitFor()
    receiver.answer = () => undefined
    await test.press('Enter')
    await page.getByText(/^Test: no answer within 0\.5 s, \d+ ms\.$/).waitFor()
    expect(receiver.deliveries.map(({ event }) => event)).toEqual([1, 2, 3].map(() => ({ type: 'test' })))
    expect((await read(account, id)).attempts).toEqual([])
  })

  it('shows attempts and what fails, pauses and resumes', async () => {
    const account = await service.newAccount()
    const { id } = await newWebhook(account)
    receiver.answer = () => 500
    await deliver()
    const since = new Date(Date.now() - 3_600_000)
    await service.sql`update webhooks set failing_since = ${since} where account_id = ${account.accountId}`
    const page = await dashboard.open(account, `webhooks/${id}`)
    const attempts = page.getByRole('region', { name: 'Last attempts, newest first' }).locator('tbody tr')
    await attempts.first().waitFor()
    expect(await attempts.count()).toBe(1)
    expect(await attempts.innerText()).toContain('answered 500')
    const facts = page.locator('main dl').first()
    expect(await facts.innerText()).toContain(`failing since ${since.toISOString().slice(0, 19).replace('T', ' ')} UTC`)
    await dashboard.expectAccessible()

    await page.getByRole('button', { name: 'Pause' }).press('Enter')
    await page.getByText('Paused.').waitFor()
    expect(await facts.innerText()).toContain('paused')
    expect((await read(account, id)).state).toBe('paused')
    receiver.answer = () => 204
    await deliver()
    expect(receiver.deliveries).toHaveLength(1)
    await page.getByRole('button', { name: 'Resume' }).press('Enter')
    await page.getByText('Resumed.').waitFor()
    expect((await read(account, id)).state).not.toBe('paused')
    await deliver()
    expect((await read(account, id)).undelivered).toBe(0)
    await page.getByRole('button', { name: 'Reload' }).click()
    await attempts.filter({ hasText: 'answered 204' }).first().waitFor()
  })

  it('issues a new secret, with the previous one or at once', async () => {
    const account = await service.newAccount()
    const { id, secret: first } = await newWebhook(account)
    const page = await dashboard.open(account, `webhooks/${id}`)
    const box = page.getByRole('group', { name: 'The new secret of the webhook.' }).locator('code')
    const issue = async (isAtOnce: boolean) => {
      await page.getByRole('button', { name: 'New secret …' }).click()
      if (isAtOnce) await page.getByLabel('End the present secret now').check()
      await page.getByRole('button', { name: 'Issue a new secret' }).click()
      await page.getByRole('dialog').waitFor({ state: 'detached' })
    }
    await issue(false)
    const second = await box.innerText()
    await page.getByText('Previous secret ends').waitFor()
    await issue(true)
    await expect.poll(() => box.innerText()).not.toBe(second)
    const third = await box.innerText()
    expect(await page.getByText('Previous secret ends').count()).toBe(0)
    await dashboard.expectAccessible()
    await page.getByRole('button', { name: 'Send a test' }).click()
    await page.getByText('Test: answered 204').waitFor()
    const [delivery = expect.unreachable()] = receiver.deliveries
    expect(verify(third, delivery)).toEqual({ type: 'test' })
    for (const old of [first, second]) expect(() => verify(old, delivery)).toThrow()
    await hide(page)
    await page.getByText('It has left this page.').waitFor()
    expect(await page.content()).not.toContain(third)

    const { id: other } = await newWebhook(account, { signature: 'v1a' })
    await page.goto(`${service.url}/#/webhooks/${other}`)
    const key = page.getByText(/^whpk_/)
    const before = await key.innerText()
    await issue(false)
    await page.getByText('The webhook has a new public key.').waitFor()
    expect(await key.innerText()).not.toBe(before)
  })

  it('rewinds to a time or to the first event, only after confirmation', async () => {
    const account = await service.newAccount()
    const { id, position } = await newWebhook(account)
    const signer = await openSigner(service.sql, null)
    for await (const _ of coverAccount({ sql: service.sql, signer }, account.accountId));
    const covered = await service.sql`
      update checkpoints set created_at = '2026-01-31T10:00Z' where account_id = ${account.accountId}
      returning tree_size::float8 - 1 as last`
    const page = await dashboard.open(account, `webhooks/${id}`)
    const open = () => page.getByRole('button', { name: 'Rewind …' }).click()
    await open()
    await page.getByRole('button', { name: 'Continue from …' }).press('Enter')
    await page.getByText('Choose a day and time.').waitFor()
    await page.getByLabel('From the first event').check()
    await page.getByText(`webhooks rewind ${id} --to start`).waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    expect((await read(account, id)).position).toBe(position)
    await open()
    await page.getByLabel('From the first event').check()
    await page.getByRole('button', { name: 'Continue from the first event' }).press('Enter')
    await page.getByText('Rewound to the first event.').waitFor()
    expect((await read(account, id)).position).toBeNull()
    await open()
    await page.getByLabel('From (UTC)').fill('2026-01-31T10:30')
    await page.getByText(`webhooks rewind ${id} --to 2026-01-31T10:30:00Z`).waitFor()
    await dashboard.expectAccessible()
    await page.getByRole('button', { name: 'Continue from 2026-01-31 10:30:00 UTC' }).press('Enter')
    await page.getByText('Rewound to 2026-01-31 10:30:00 UTC.').waitFor()
    expect([{ last: (await read(account, id)).position }]).toEqual(covered)
  })

  it('removes one after confirmation, and names it on the screen Audit', async () => {
    const account = await service.newAccount()
    const { id } = await newWebhook(account)
    const page = await dashboard.open(account, `webhooks/${id}`)
    await page.getByRole('button', { name: 'Remove …' }).click()
    await dashboard.expectAccessible()
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    expect((await read(account, id)).id).toBe(id)
    await page.getByRole('button', { name: 'Remove …' }).click()
    await page.getByRole('button', { name: 'Remove the webhook' }).press('Enter')
    await page.getByText('The account has no webhooks.').waitFor()
    expect(await page.locator(':focus').innerText()).toBe('Webhooks')
    expect((await call(account, 'GET', 'webhooks')).body.data).toEqual([])
    await page.getByRole('link', { name: 'Audit' }).click()
    await page
      .getByRole('row', { name: 'Show entry' })
      .filter({ hasText: 'webhook removed' })
      .getByText(`webhook ${receiver.url}`)
      .waitFor()
  })

  it('shows a reader the list and the attempts, but nothing to change them', async () => {
    const account = await service.newAccount()
    await newWebhook(account)
    await deliver()
    await service.sql`update users set role = 'reader' where account_id = ${account.accountId}`
    const page = await dashboard.open(account, 'webhooks')
    const buttons = () => page.getByRole('button').allInnerTexts()
    await page.getByRole('link', { name: receiver.url }).waitFor()
    expect(await buttons()).toEqual(['Skip to the content', 'Sign out', 'Copy'])
    await page.getByRole('link', { name: receiver.url }).click()
    await page.getByRole('region', { name: 'Last attempts, newest first' }).waitFor()
    expect(await buttons()).toEqual(['Skip to the content', 'Sign out', 'Copy'])
  })
})
