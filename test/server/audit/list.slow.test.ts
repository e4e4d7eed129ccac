import { createHash } from 'node:crypto'
import { beforeAll, describe, expect, it } from 'vitest'
import { machine } from '../../../server/audit/entries.ts'
import { setPassword } from '../../../server/session/queries.ts'
import type { AccountEntry, AuditPage } from '../../../src/contract/index.ts'
import * as cli from '../../support/cli.ts'
import { type TestAccount, useService } from '../../support/service.ts'
import { newImporter } from '../consents/imports.ts'

const service = useService()
const folder = cli.useFolder()
let account: TestAccount

/** An account of six changes: 2 to 4 by its owner, 5 and 6 on the machine. */
beforeAll(async () => {
  account = await service.newAccount()
  const headers = await service.signIn(account)
  const { accountId, userId, siteId } = account
  await service.call('PATCH', `/api/v1/sites/${siteId}`, { body: { name: 'Shop' }, headers })
  await service.call('PATCH', `/api/v1/sites/${siteId}`, { body: { name: 'Store' }, headers })
  await service.call('POST', '/api/v1/keys', { body: { name: 'CI', scopes: ['write'] }, headers })
  for (const passwordHash of ['one', 'other'])
    await setPassword(service.sql, { accountId, userId }, { passwordHash, at: new Date() }, machine)
})

async function list(query = '', key = account.key): Promise<AuditPage> {
  const { status, body } = await service.call('GET', `/api/v1/audit?${query}`, { key })
  expect([status, body.error]).toEqual([200, undefined])
  return body
}

const versions = ({ data }: AuditPage) => data.map(({ version }) => version)

describe('GET /api/v1/audit', () => {
  it('› 200 › returns every entry, newest first, with its actor and the hashed bytes', async () => {
    const page = await list()
    expect(versions(page)).toEqual([6, 5, 4, 3, 2, 1])
    expect(page.next_cursor).toBeNull()
    for (const { hash, document, ...entry } of page.data) {
      expect(hash).toBe(createHash('sha256').update(document).digest('hex'))
      expect(JSON.parse(document)).toMatchObject({ ...entry, actor: { kind: entry.actor.kind, id: entry.actor.id } })
    }
    const changed = page.data[3] as AccountEntry
    expect(changed.actor).toEqual({ kind: 'user', id: account.userId, name: account.email })
    expect([changed.before?.['name'], changed.after?.['name']]).toEqual(['Shop', 'Store'])
  })

  it.each<[string, () => string, number[]]>([
    ['an action', () => 'action=site_updated', [3, 2]],
    ['an e-mail', () => `actor=${encodeURIComponent(account.email)}`, [4, 3, 2]],
    ['an id', () => `actor=${account.userId}`, [4, 3, 2]],
    ['a kind of actors', () => 'actor=admin', [6, 5, 1]],
    ['a site', () => `target=${account.siteId}`, [3, 2]],
    ['a kind of targets', () => 'target=user', [6, 5]],
    ['a time before everything', () => 'to=2026-01-01T00:00:00Z', []],
    ['a time and an action', () => 'from=2026-01-01T00:00:00Z&action=key_created', [4]],
  ])('› 200 › filters by %s', async (_, query, expected) => {
    expect(versions(await list(query()))).toEqual(expected)
  })

  it('› 200 › paginates with a cursor', async () => {
    const found: number[] = []
    let cursor: string | null = ''
    while (cursor !== null) {
      const page: AuditPage = await list(`actor=user&limit=2${cursor && `&cursor=${cursor}`}`)
      found.push(...versions(page))
      cursor = page.next_cursor
    }
    expect(found).toEqual([4, 3, 2])
    expect(await list('action=key_created&limit=1')).toMatchObject({ data: [{ version: 4 }], next_cursor: null })
    const { next_cursor } = await list('limit=2')
    const other = await service.call('GET', `/api/v1/audit?limit=2&actor=user&cursor=${next_cursor}`, {
      key: account.key,
    })
    expect(other.status).toBe(400)
  })

  it.each(['', 'not JSON', 'null', '[1]', '{"action":"x","actor":{"kind":"user","id":"1"},"at":"then"}'])(
    '› 200 › when an entry is unreadable (%s), reports it and returns all others, with any filter',
    async document => {
      const damaged = await service.newAccount()
      const headers = await service.signIn(damaged)
      await service.call('PATCH', `/api/v1/sites/${damaged.siteId}`, { body: { name: 'Shop' }, headers })
      await service.sql`update account_entries set document = ${document}
        where account_id = ${damaged.accountId} and version = 1`
      const page = await list('', damaged.key)
      expect(versions(page)).toEqual([2, 1])
      expect(page.data[1]).toMatchObject({ action: 'unreadable', actor: { kind: 'unknown' }, target: {}, document })
      expect(versions(await list('action=site_updated&target=site', damaged.key))).toEqual([2, 1])
      const env = { CONSENTCTL_BASE_URL: service.url, CONSENTCTL_API_KEY: damaged.key, HOME: folder.path }
      const ran = await cli.run(['audit', 'list', '-o', 'tsv'], { env })
      expect([ran.code, ran.stdout]).toEqual([0, expect.stringMatching(/\tunreadable\t/)])
    },
  )

  it('› 200 › omits imports of records, which are in the records’ histories', async () => {
    const importer = await newImporter(service)
    const before = versions(await list('', importer.key))
    const [result] = await importer.sendAll([importer.row('1')])
    const history = await service.call('GET', `/api/v1/consents/${result?.consent?.id}/history`, { key: importer.key })
    expect(history.body.data[0]).toMatchObject({ action: 'imported', changed_by: 'api_key' })
    expect(versions(await list('', importer.key))).toEqual(before)
  })
})

it('audit list › prints the selected changes', async () => {
  const env = {
    CONSENTCTL_BASE_URL: service.url,
    CONSENTCTL_API_KEY: account.key,
    CONSENTCTL_CONFIG_DIR: `${folder.path}/config`,
    CONSENTCTL_STATE_DIR: `${folder.path}/state`,
  }
  const run = (...args: string[]) => cli.run(['audit', 'list', ...args], { env })
  expect(await run('--actor', account.email, '-q')).toMatchObject({ code: 0, stdout: '4\n3\n2\n' })
  expect(await run('--limit', '1', '-q')).toMatchObject({ code: 0, stdout: '6\n' })
  const { stdout } = await run('--action', 'site_updated', '--from', '1d', '-o', 'ndjson')
  const [line = ''] = stdout.split('\n')
  expect(JSON.parse(line)).toMatchObject({ version: 3, target: { kind: 'site' }, after: { name: 'Store' } })
  const table = await run('-o', 'wide')
  expect(table.stdout).toMatch(/site_updated/)
  expect(table.stdout).toContain('name=Store')
  expect(await run('--action', 'nothing')).toMatchObject({ code: 2 })
})

it('audit list › in a pipe, prints one line per change, and the full document on request', async () => {
  const env = { CONSENTCTL_BASE_URL: service.url, CONSENTCTL_API_KEY: account.key, HOME: folder.path }
  const run = (...args: string[]) => cli.run(['audit', 'list', '--action', 'site_updated', ...args], { env })
  const { stdout } = await run()
  expect(stdout.match(/"name":\s*"Store"/g)).toHaveLength(1)
  expect((await run('--columns', 'document')).stdout).toContain('account_entry')
  expect((await run('-o', 'json')).stdout).toContain('"document":')
})
