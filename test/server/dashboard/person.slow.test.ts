import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Download, Locator } from 'playwright-core'
import { beforeEach, describe, expect, it } from 'vitest'
import { browserPath } from '../../support/browser.ts'
import { run, runBinary, useFolder } from '../../support/cli.ts'
import { useDashboard } from '../../support/dashboard.ts'
import type { TestAccount } from '../../support/service.ts'
import { readerSession } from '../endpoints.ts'
import { purgeNow } from '../purge/purge.ts'
import { sealSince } from '../subjects/fixtures.ts'

const subject = 'maria@example.com'

/** Records of one person; the page sends 200 a call. */
const many = Number(process.env['CONSENTCTL_TEST_PERSON'] ?? 250)

/** An identifier that would run, and turn what follows it. */
const hostile = '<img src=x onerror=alert(1)>\u202emaria'

describe.skipIf(!browserPath)('the dashboard › person', () => {
  const dashboard = useDashboard()
  const { service } = dashboard
  const folder = useFolder()
  let account: TestAccount
  beforeEach(async () => {
    account = await service.newAccount({ password: 'correct horse' })
  })

  async function create(count: number, subject_id = subject, of = account, more: object = {}): Promise<string[]> {
    const ids: string[] = []
    for (let start = 0; start < count; start += 1000) {
      const records = Array.from({ length: Math.min(1000, count - start) }, (_, index) => ({
        site_id: of.siteId,
        subject_id,
        consent_id: `label-${start + index}`,
        accepted: index % 2 === 0,
        ...more,
      }))
      const { status, body } = await service.call('POST', '/api/v1/consents/batch', { key: of.key, body: { records } })
      expect(status).toBe(200)
      ids.push(...body.results.map(({ consent }: { consent: { id: string } }) => consent.id))
    }
    return ids
  }

  async function actionsOf(id: string, of = account): Promise<string[]> {
    const { body } = await service.call('GET', `/api/v1/consents/${id}/history`, { key: of.key })
    return body.data.map(({ action }: { action: string }) => action)
  }

  const button = (name: string | RegExp): Locator => dashboard.page.getByRole('button', { name })
  const seen = (text: string | RegExp) => dashboard.page.getByText(text).first().waitFor()

  async function find(subjects: string = subject): Promise<void> {
    await dashboard.page.getByLabel('Identifiers of one person').fill(subjects)
    await button('Find').click()
    await dashboard.page.getByText('Purged ones are not found').waitFor()
  }

  async function fillErasure(count: number, ticket = 'DSR-7'): Promise<void> {
    await dashboard.page.getByLabel('Ticket').fill(ticket)
    await dashboard.page.getByLabel(`Type ${count} to erase`).fill(String(count))
  }

  async function erase(count: number): Promise<void> {
    await fillErasure(count)
    await button(/^Erase/).click()
  }

  const download = async (click: () => Promise<void>) => (await dashboard.download(click)).bytes.toString()
  const contentOf = async (file: Download) => readFileSync(await file.path(), 'utf8')

  const downloadCertificate = () =>
    download(() =>
      button(/^Download erasure-certificate/)
        .first()
        .click(),
    )

  it('erases like the command line, with equal certificate fields and histories', async () => {
    const other = await service.newAccount()
    const erased = await Promise.all([account, other].map(of => create(3, subject, of)))
    await dashboard.open(account, 'person')
    await find()
    await dashboard.page.getByLabel('Reason').fill('asked by e-mail')
    await erase(3)
    await seen('3 records were logically deleted; personal data to be purged after 30 days.')
    const byPage = await downloadCertificate()

    const env = { HOME: folder.path, CONSENTCTL_BASE_URL: service.url, CONSENTCTL_API_KEY: other.key }
    const words = ['--ticket', 'DSR-7', '--reason', 'asked by e-mail', '--confirm', '3']
    expect((await runBinary(['subject', 'erase', subject, ...words], { env })).code).toBe(0)
    const shown = await run(['subject', 'receipts', 'last', '--json'], { env })
    const [byCommand] = JSON.parse(shown.stdout).certificates
    expect(fieldsOf(byPage)).toEqual(fieldsOf(byCommand))

    const histories = await Promise.all(
      [account, other].map((of, index) => Promise.all((erased[index] ?? []).map(async id => historyOf(id, of)))),
    )
    expect(histories[0]).toEqual(histories[1])
    expect(histories[0]?.[0]?.at(-1)).toMatchObject({ action: 'deleted', version: 2 })

    const file = join(folder.path, 'certificate.json')
    writeFileSync(file, byPage)
    expect((await run(['verify', file], { env })).code).toBe(0)

    // A restore must be told that it is despite the erasure, of both.
    for (const [index, of] of [account, other].entries()) {
      const path = `/api/v1/consents/${erased[index]?.[0]}/restore`
      expect((await service.call('POST', path, { key: of.key, body: {} })).status).toBe(409)
    }
  })

  it('finds records on every site and near matches, exports them, and erases only what was added', async () => {
    const [live, gone] = await create(2)
    await create(1, 'Maria@Example.com')
    await service.call('DELETE', `/api/v1/consents/${gone}`, { key: account.key })
    await dashboard.open(account, 'person')
    await dashboard.page.route('**/subjects/near-matches', route => route.abort(), { times: 1 }) // a read is repeated
    await find()
    await seen('1 live record, and 1 deleted, which holds data until purged. Purged ones are not found.')
    const records = dashboard.page.getByRole('region', { name: 'Records', exact: true })
    expect(await records.getByRole('row').count()).toBe(3)
    await dashboard.page
      .getByRole('region', { name: 'Near matches' })
      .getByText('Maria@Example.com', { exact: true })
      .waitFor()
    await dashboard.expectAccessible()

    const exported = await download(() => button('Export everything').press('Enter'))
    expect(await dashboard.page.locator(':focus').innerText()).toBe('Export everything')
    const out = join(folder.path, 'export.json')
    const env = { HOME: folder.path, CONSENTCTL_BASE_URL: service.url, CONSENTCTL_API_KEY: account.key }
    expect((await run(['subject', 'export', subject, '--out', out], { env })).code).toBe(0)
    const withoutTime = (text: string) => text.replace(/"exported_at":"[^"]*"/, '')
    expect(withoutTime(exported)).toBe(withoutTime(readFileSync(out, 'utf8')))

    const files: string[] = []
    dashboard.page.on('download', file => files.push(file.suggestedFilename()))
    let release = () => {}
    const slow = new Promise<void>(resolve => {
      release = resolve
    })
    await dashboard.page.route('**/history*', async route => await slow.then(() => route.continue()), {
      times: 1,
    })
    const asked = dashboard.page.waitForRequest('**/history*')
    await button('Export everything').click()
    await asked
    await find('jo@example.com')
    await seen('0 live records')
    const answered = dashboard.page.waitForResponse('**/history*')
    release()
    await answered
    await find()
    await seen('1 live record, and 1 deleted')
    expect(files, 'of the person before').toEqual([])
    await erase(1)
    await seen('Near matches: 1')
    expect(await actionsOf(live ?? '')).toEqual(['created', 'deleted'])
    expect(await actionsOf(gone ?? ''), 'the mark').toEqual(['created', 'deleted', 'deleted'])
    const near = await service.call('GET', '/api/v1/consents?subject_id=Maria%40Example.com', { key: account.key })
    expect(near.body.data).toHaveLength(1)

    await downloadCertificate()
    await button('Close, and find the person again').click()
    await button('Add to this person').click()
    await seen('1 live record, and 2 deleted')
    await erase(1)
    await seen('1 record was logically deleted')
    expect(await actionsOf(near.body.data[0].id)).toEqual(['created', 'deleted'])
    expect(dashboard.page.url()).toBe(`${service.url}/#/person`)
    expect(await dashboard.page.evaluate('JSON.stringify([{ ...localStorage }, { ...sessionStorage }])')).toBe(
      '[{},{}]',
    )
  })

  it('lists the sealed proofs of purged records, which the record and the site name too', async () => {
    const sealed = { basis: 'GDPR Art. 17(3)(e)', period: 'P10Y' }
    await sealSince(service, account, sealed, new Date(Date.now() - 60_000))
    const [id = ''] = await create(1)
    await service.call('DELETE', `/api/v1/consents/${id}`, { key: account.key })
    await purgeNow(service.sql)
    await dashboard.open(account, 'person')
    const proofs = dashboard.page.getByRole('region', { name: 'Sealed proofs of purged records' })
    await find('somebody else')
    expect(await proofs.count()).toBe(0)
    await find()
    await seen('Purged ones are not found, but for 1 sealed proof.')
    expect(await proofs.getByRole('row').count()).toBe(2)
    await proofs.getByText(sealed.basis, { exact: true }).waitFor()
    await seen('The newest 1,000 of each identifier are listed at most.')
    await dashboard.expectAccessible()
    await proofs.getByRole('link').first().click()
    await seen(/keeps a sealed proof until \S+: GDPR Art\. 17\(3\)\(e\)/)
    await dashboard.open(account, `sites/${account.siteId}`)
    await dashboard.page.getByRole('definition').filter({ hasText: sealed.basis }).waitFor()
  })

  it('erases nothing while a legal hold stands, and names its reason', async () => {
    const [id = ''] = await create(1)
    const held_until = new Date(Date.now() + 86_400_000).toISOString()
    const hold = { subject_id: subject, reason: 'a claim in court', held_until }
    expect((await service.call('POST', '/api/v1/holds', { key: account.key, body: hold })).status).toBe(201)
    await dashboard.open(account, 'person')
    await find()
    await erase(1)
    await seen(/legal hold .*a claim in court/)
    expect(await actionsOf(id)).toEqual(['created'])
  })

  it('continues with the same ids after a lost response and an expired session', async () => {
    const ids = await create(many)
    await dashboard.open(account, 'person')
    dashboard.page.setDefaultTimeout(60_000)
    await find()
    let deletions = 0
    await dashboard.page.route('**/api/v1/subjects/erase', async route => {
      if (route.request().postDataJSON().dry_run === undefined) deletions += 1
      if (deletions === 3) await dashboard.page.context().clearCookies()
      if (deletions !== 1) return await route.continue()
      await route.fetch() // it deletes, and nobody hears of it
      await route.abort()
    })
    await erase(many)
    await seen(/200 of which may be deleted already/)
    await button('Continue').click()
    await dashboard.page.getByRole('dialog', { name: 'Your session has ended' }).waitFor()
    await seen('If another user signs in, this page is emptied: the erasure is not finished.')
    await dashboard.page.getByLabel('Password').fill('correct horse')
    await button('Sign in').click()
    await seen(`${many} records were logically deleted`)
    await seen('1 call got no usable answer')
    const named = await certifiedIds()
    expect(named.sort()).toEqual(ids.slice(0, many - 200).sort())
    for (const id of [ids[0], ids.at(-1)]) expect(await actionsOf(id ?? '')).toEqual(['created', 'deleted'])
  })

  /** The ids of all certificates, as they are downloaded. */
  async function certifiedIds(): Promise<string[]> {
    const files: Download[] = []
    const count = await button(/^Download erasure-certificate/).count()
    dashboard.page.on('download', file => files.push(file))
    await button(/^Download all/).click()
    await expect.poll(() => files.length, { timeout: 30_000 }).toBe(count)
    const texts = await Promise.all(files.map(contentOf))
    return texts.flatMap(text => JSON.parse(text).records.map(({ id }: { id: string }) => id))
  }

  it('stops at a 503, and deletes nothing twice on a double click', async () => {
    const [id = ''] = await create(1)
    await dashboard.open(account, 'person')
    await find()
    let isDown = true
    await dashboard.page.route('**/api/v1/subjects/erase', async route => {
      if (!isDown || route.request().postDataJSON().dry_run) return await route.continue()
      const body = { error: 'unavailable', message: 'The database cannot be reached.' }
      await route.fulfill({ status: 503, json: body, headers: { 'retry-after': '1' } })
    })
    await fillErasure(1)
    expect(await button('Erase 1 record').isEnabled()).toBe(true)
    await dashboard.page.getByLabel('Type 1 to erase').fill('2')
    expect(await button('Erase 1 record').isEnabled()).toBe(false)
    await dashboard.page.keyboard.press('Enter')
    await seen('Type 1 to confirm.')
    await dashboard.page.getByLabel('Type 1 to erase').fill('1')
    await button('Erase 1 record').dblclick()
    await seen('The database cannot be reached. Try again in 1 s.')
    await seen('1 record without an outcome')
    isDown = false
    await button('Continue').dblclick()
    await seen('1 record was logically deleted')
    expect(await actionsOf(id)).toEqual(['created', 'deleted'])
  })

  it('erases nothing if records changed since they were shown, and names those created during the erasure', async () => {
    await create(1)
    await dashboard.open(account, 'person')
    await find()
    await create(1)
    await erase(1)
    await seen(/Records changed since they were shown: 1 added/)
    await find()
    let created: string[] = []
    await dashboard.page.route('**/api/v1/subjects/erase', async route => {
      if (route.request().postDataJSON().dry_run === undefined && created.length === 0) created = await create(1)
      await route.continue()
    })
    await erase(2)
    await seen('1 record of this person remained or were created meanwhile.')
    expect(await actionsOf(created[0] ?? '')).toEqual(['created'])
    await dashboard.page
      .getByRole('region', { name: 'Live, and not part of this erasure' })
      .getByText(created[0] ?? '')
      .waitFor()
  })

  it('warns before an erasure or its certificates are lost, and keeps them while other screens are open', async () => {
    await create(1)
    await dashboard.open(account, 'person')
    await find()
    await erase(1)
    await seen('1 record was logically deleted')
    await dashboard.page.getByRole('link', { name: 'Usage' }).click()
    await dashboard.page.getByRole('link', { name: 'Person' }).click()
    await seen('1 record was logically deleted')
    const asked: string[] = []
    dashboard.page.on('dialog', async dialog => {
      asked.push(dialog.type())
      await (dialog.type() === 'beforeunload' ? dialog.accept() : dialog.dismiss())
    })
    await button('Sign out').click()
    await button('Close, and find the person again').click()
    expect(asked).toEqual(['confirm', 'confirm'])
    expect(JSON.parse(await downloadCertificate())).toMatchObject({ ticket: 'DSR-7', erased: 1 })
    await button('Close, and find the person again').click()
    await seen('0 live records, and 1 deleted')
    await erase(0)
    await seen('No undeleted record of this person was held')
    await dashboard.page.reload()
    expect(asked).toEqual(['confirm', 'confirm', 'beforeunload'])
  })

  it('fills in the ticket and the due days of an open request, purges erased records immediately, and escapes hostile text', async () => {
    const [id = ''] = await create(1, hostile, account, { consent_id: hostile })
    const draft = { ticket: hostile, kind: 'erasure', subject_ids: [hostile, 'customer-7'], received_on: '2020-01-31' }
    expect((await service.call('POST', '/api/v1/requests', { key: account.key, body: draft })).status).toBe(201)
    await dashboard.open(account, 'person')
    await find(hostile)
    await seen('do not paste into a terminal')
    expect(await button('Copy the command').count()).toBe(0)
    await button('Search its 1 other identifier too').click()
    await button('Answer it').click()
    await seen('by the register due on 2020-03-02')
    await seen(/subject erase --request/)
    await dashboard.page.getByLabel('Type 1 to erase').fill('1')
    await button('Erase 1 record').click()
    await seen('1 record was logically deleted')
    await seen('The request was due on 2020-03-02.')
    expect(await dashboard.page.locator('main').innerText()).toContain('<img src=x onerror=alert(1)>\\u{202e}maria')
    expect(await dashboard.page.locator('main').innerText()).not.toContain('\u202e')
    await button('Purge now …').click()
    await dashboard.page.getByLabel('Type 1 to purge them').fill('1')
    let answerPurge = () => {}
    await dashboard.page.route('**/api/v1/subjects/purge', async route => {
      if (!route.request().postDataJSON().dry_run)
        await new Promise<void>(done => {
          answerPurge = done
        })
      await route.continue()
    })
    await button('Purge 1 record permanently').click()
    await seen('Purging: do not close this page.')
    expect(await button(/^Close/).count()).toBe(0)
    await dashboard.page.getByRole('link', { name: 'Usage' }).click()
    await dashboard.page.getByRole('link', { name: 'Person' }).click()
    await seen('Purging: do not close this page.')
    answerPurge()
    await seen('1 record: personal data purged, as the service says and certifies.')
    expect(await dashboard.page.locator('.outcome').innerText()).toMatch(/^As of \d{4}-.* UTC: /) // what it says is no longer so
    await dashboard.expectAccessible()
    expect(await actionsOf(id)).toEqual(['created', 'deleted', 'purged'])
    expect(JSON.parse(await downloadCertificate())).toMatchObject({ ticket: hostile })
    const certificate = await download(() => button(/^Download purge-certificate/).click())
    expect(JSON.parse(certificate)).toMatchObject({ type: 'purge_certificate', records: [{ id }] })
  })

  it('shows everything to a reader, who cannot erase', async () => {
    await create(1)
    await dashboard.open(account, 'person')
    const { cookie } = await readerSession(service, account)
    const [name = '', value = ''] = cookie.split('=')
    await dashboard.page.context().addCookies([{ name, value, url: service.url, httpOnly: true, sameSite: 'Lax' }])
    await dashboard.page.reload()
    await find()
    await seen('1 live record')
    await seen('Only an owner or an operator can erase.')
    expect(await button(/^Erase/).count()).toBe(0)
  })

  it('is usable by keyboard alone', async () => {
    const [id = ''] = await create(1)
    await dashboard.open(account, 'person')
    const { keyboard } = dashboard.page
    const tabTo = async (name: RegExp) => {
      for (let presses = 0; presses < 40; presses += 1) {
        await keyboard.press('Tab')
        const focused = await dashboard.page.evaluate<string>(
          "document.activeElement.labels?.[0]?.innerText ?? document.activeElement.innerText ?? ''",
        )
        if (name.test(focused)) return
      }
      throw new Error(`no ${name} is reached by Tab`)
    }
    await tabTo(/^Identifiers/)
    await keyboard.type(subject)
    await tabTo(/^Find$/)
    await keyboard.press('Enter')
    await seen('1 live record')
    await tabTo(/^Ticket/)
    await keyboard.type('DSR-7')
    await tabTo(/^Type 1/)
    await keyboard.type('1')
    await keyboard.press('Enter')
    await seen('1 record was logically deleted')
    const focused = () => dashboard.page.evaluate<string>('document.activeElement.innerText')
    expect(await focused()).toBe('The erasure')
    await tabTo(/^Download erasure/)
    await keyboard.press('Enter')
    await seen('downloaded')
    await tabTo(/^Purge now/)
    await keyboard.press('Enter')
    await expect.poll(focused).toBe('Purge')
    await tabTo(/^Close/)
    await keyboard.press('Enter')
    await seen('0 live records')
    expect(await focused()).toBe('Held')
    expect(await actionsOf(id)).toEqual(['created', 'deleted'])
  })

  /** What differs from account to account is reduced to its form. */
  function fieldsOf(certificate: string): unknown {
    const form = (key: string, value: unknown) =>
      /(^|_)(id|hmac|at|by|signature)$|^signature$/.test(key) ? typeof value : value
    return JSON.parse(certificate, (key, value) => form(key, value))
  }

  async function historyOf(id: string, of: TestAccount) {
    const { body } = await service.call('GET', `/api/v1/consents/${id}/history`, { key: of.key })
    return body.data.map(({ action, accepted, preferences, policy_version, version }: Record<string, unknown>) => ({
      ...{ action, accepted, preferences, policy_version, version },
    }))
  }
})
