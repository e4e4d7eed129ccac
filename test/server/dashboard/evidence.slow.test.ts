import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseTar } from 'nanotar'
import { describe, expect, it } from 'vitest'
import { browserPath } from '../../support/browser.ts'
import { run, runBinary, useFolder } from '../../support/cli.ts'
import { useDashboard } from '../../support/dashboard.ts'
import { mediaBytes, type TestAccount } from '../../support/service.ts'

const hostile = '</td><script>alert(1)</script>\n    touch pwned\u202e'

describe.skipIf(!browserPath)('the dashboard › evidence', () => {
  const dashboard = useDashboard()
  const folder = useFolder()

  /** A record that the log does not have yet, with a notice. */
  async function newRecord(account: TestAccount): Promise<string> {
    const { service } = dashboard
    const send = async (method: string, rest: string, content: unknown) => {
      const { status, text } = await dashboard.call(
        account,
        method,
        `sites/${account.siteId}/notices/1${rest}`,
        content,
      )
      expect(status, text).toBeLessThan(300)
    }
    await send('PUT', '', { controller: hostile, purposes: [{ key: 'marketing', title: hostile }] })
    await send('PUT', '/texts/de', mediaBytes('Wir möchten … 🍪\r\n', 'text/plain'))
    await send('POST', '/publish', {})
    const body = { site_id: account.siteId, subject_id: hostile, accepted: true, preferences: { [hostile]: true } }
    const { body: record } = await service.call('POST', '/api/v1/consents', {
      key: account.key,
      body: { ...body, policy_version: 1 },
    })
    return record.id
  }

  const button = () => dashboard.page.getByRole('button', { name: 'Download the evidence pack' })

  it('lets a reader download a pack that verifies and has the same files as the command line’s', async () => {
    const account = await dashboard.service.newAccount()
    const id = await newRecord(account)
    const { service } = dashboard
    const covers = async () => {
      await service.call('POST', '/api/v1/log/checkpoint', { key: account.key }) // which a reader cannot
      return (await service.call('GET', `/api/v1/log/inclusion?record_id=${id}`, { key: account.key })).status
    }
    await expect.poll(covers, { timeout: 5000, interval: 500 }).toBe(200)
    await dashboard.service.sql`update users set role = 'reader' where id = ${account.userId}`
    const page = await dashboard.open(account, `records/${id}`)
    const { name, bytes } = await dashboard.download(() => button().press('Enter'))
    expect(name).toBe(`evidence-${id}.tar`)
    const path = join(folder.path, name)
    writeFileSync(path, bytes)
    await page.getByText(`consentctl verify evidence-${id}.tar`).waitFor()
    await dashboard.expectAccessible()

    const { code, stdout, stderr } = await runBinary(['verify', path, '-o', 'json'], { env: { HOME: folder.path } })
    expect([code, stderr]).toEqual([0, expect.stringMatching(/^the keys are those in .*\n$/)])
    expect(JSON.parse(stdout)[0]).toMatchObject({ type: 'evidence_pack', result: 'valid' })

    const env = { HOME: folder.path, CONSENTCTL_BASE_URL: dashboard.service.url, CONSENTCTL_API_KEY: account.key }
    const sealed = join(folder.path, 'sealed.tar')
    expect((await run(['evidence', id, '--out', sealed], { env })).code).toBe(0)
    const [ours, theirs] = [read(path), read(sealed)]
    const own = new Set(['certificate.html', 'receipt.json', 'pack.json'])
    const same = (files: ReadonlyMap<string, string>) => [...files].filter(([name]) => !own.has(name)).sort()
    expect(same(ours)).toEqual(same(theirs))
    expect(String(ours.get('notice/de.txt'))).toBe('Wir möchten … 🍪\r\n')
    const certificate = await dashboard.download(() =>
      page.getByRole('button', { name: 'Download the certificate' }).click(),
    )
    expect(certificate.name).toBe(`certificate-${id}.html`)
    expect(String(certificate.bytes)).toContain('<html lang="de">')
    expect(String(certificate.bytes)).not.toContain('<script')
  })

  it('when a request fails, says why and downloads the pack on retry', async () => {
    const account = await dashboard.service.newAccount()
    const id = await newRecord(account)
    await dashboard.open(account, `records/${id}`)
    const { page } = dashboard
    const refused = { error: 'conflict', message: 'It has no pack.' }
    await page.route('**/evidence', route => route.fulfill({ status: 409, json: refused }))
    await button().click()
    await page.getByRole('alert').getByText(refused.message).waitFor()
    await dashboard.expectAccessible()
    await page.unroute('**/evidence')
    const retry = page.getByRole('button', { name: 'Try again' })
    expect((await dashboard.download(() => retry.click())).name).toBe(`evidence-${id}.tar`)
  })
})

function read(path: string): Map<string, string> {
  const entries = parseTar(new Uint8Array(readFileSync(path)))
  return new Map(entries.map(({ name, text }) => [name.replace(/^[^/]+\//, ''), text]))
}
