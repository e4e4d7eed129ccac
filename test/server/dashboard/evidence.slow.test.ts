import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseTar } from 'nanotar'
import { describe, expect, it } from 'vitest'
import { browserPath } from '../../support/browser.ts'
import { run, runBinary, useFolder } from '../../support/cli.ts'
import { useDashboard } from '../../support/dashboard.ts'
import { runScript } from '../../support/documented-commands.ts'
import { mediaBytes, type TestAccount } from '../../support/service.ts'

const verifier = fileURLToPath(new URL('../../fixtures/verifier/verify.py', import.meta.url))
const hasPython = ['python3', 'openssl', 'tar'].every(name => spawnSync(name, ['--help']).error === undefined)
if (!hasPython && process.env['CI']) throw new Error('CI needs python3, openssl and tar')

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

  it('downloads a pack that verifies, as a reader, and has the bytes of that of the command line', async () => {
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
    await page.getByText('Nothing of it was verified here').waitFor()
    await dashboard.expectAccessible()

    const { code, stdout, stderr } = await runBinary(['verify', path, '-o', 'json'], { env: { HOME: folder.path } })
    expect([code, stderr]).toEqual([0, expect.stringMatching(/^the keys of the service are those in .*\n$/)])
    const [list, ...rows] = JSON.parse(stdout)
    expect(list).toMatchObject({ type: 'unsealed_pack', result: 'unsigned', signed_by: null })
    expect(rows.filter(({ result }: { result: string }) => result !== 'valid')).toEqual([])
    if (hasPython) {
      expect(spawnSync('tar', ['-xf', path, '-C', folder.path]).status).toBe(0)
      const python = spawnSync('python3', [verifier, join(folder.path, id)], { encoding: 'utf8' })
      expect([python.status, python.stdout]).toEqual([0, expect.stringContaining('nobody signed the list')])
      const commands = [...readFileSync(join(folder.path, id, 'README.txt'), 'utf8').matchAll(/^ {4}(.*)$/gm)]
      const ran = await runScript(join(folder.path, id), `set -e\n${commands.map(([, line]) => line).join('\n')}`)
      expect([ran.code, ran.stderr]).toEqual([0, ''])
      expect(ran.stdout.match(/Signature Verified Successfully/g)).toHaveLength(3)
    }

    const env = { HOME: folder.path, CONSENTCTL_BASE_URL: dashboard.service.url, CONSENTCTL_API_KEY: account.key }
    const sealed = join(folder.path, 'sealed.tar')
    expect((await run(['evidence', id, '--out', sealed], { env })).code).toBe(0)
    const [ours, theirs] = [read(path), read(sealed)]
    const own = new Set(['README.txt', 'index.html', 'SHA256SUMS', 'receipt.json', 'pack.json', 'profile-key.pem'])
    const same = (files: ReadonlyMap<string, string>) => [...files].filter(([name]) => !own.has(name)).sort()
    expect(same(ours)).toEqual(same(theirs))
    expect(String(ours.get('notice/de.txt'))).toBe('Wir möchten … 🍪\r\n')
    for (const name of ['README.txt', 'index.html']) {
      const text = String(ours.get(name)).replace(/\s+/g, ' ')
      expect(text).toContain('verified nothing, and nobody signed the list of the files')
      expect(text).not.toMatch(/pack\.json|profile-key|\u202e/)
    }
    expect(ours.get('index.html')).not.toContain('<script')
  })

  it('says that the log does not have a record yet, why a request failed, and that there is no receipt', async () => {
    const account = await dashboard.service.newAccount()
    const id = await newRecord(account)
    await dashboard.open(account, `records/${id}`)
    const { page, requests } = dashboard
    const missing = { error: 'not_found', message: 'Not found.' }
    await page.route('**/api/v1/log/inclusion*', route => route.fulfill({ status: 404, json: missing }))
    await page.clock.install()
    await button().click()
    await page.getByText('Waiting for a checkpoint').waitFor()
    while (!(await page.getByText('The log does not have all of this record yet').isVisible())) {
      await page.clock.runFor(1000)
      await page.waitForTimeout(20)
    }
    expect(requests).toContain('POST /api/v1/log/checkpoint')
    await dashboard.expectAccessible()

    const refused = { error: 'forbidden', message: 'The key must have the scope read.' }
    await page.route('**/api/v1/log/inclusion*', route => route.fulfill({ status: 403, json: refused }))
    await button().click()
    await page.getByRole('alert').getByText(refused.message).waitFor()
    expect(await page.getByText('The log does not have').isVisible()).toBe(false)

    await page.unroute('**/api/v1/log/inclusion*')
    const unsigned = { error: 'conflict', message: 'No receipt is signed.' }
    await page.route('**/receipt', route => route.fulfill({ status: 409, json: unsigned }))
    await button().click()
    await page.getByRole('alert').getByText(unsigned.message).waitFor()
    expect(await button().isEnabled()).toBe(true)
  })
})

function read(path: string): Map<string, string> {
  const entries = parseTar(new Uint8Array(readFileSync(path)))
  return new Map(entries.map(({ name, text }) => [name.replace(/^[^/]+\//, ''), text]))
}
