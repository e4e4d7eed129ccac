import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, expect, it } from 'vitest'
import { addUser } from '../../server/accounts/users.ts'
import { purgeNow } from '../server/purge/purge.ts'
import { runBinary, useFolder } from '../support/cli.ts'
import { type TestAccount, useService } from '../support/service.ts'

const service = useService()
const folder = useFolder()
const subject = 'maria@example.com'
let own: TestAccount
let other: TestAccount
beforeAll(async () => {
  own = await service.newAccount()
  other = await service.newAccount()
})

/** Runs a command with the key of an account; receipts and keys are of one profile, as when a key is mistaken. */
async function run({ key }: TestAccount, ...args: string[]) {
  const env = { HOME: folder.path, CONSENTCTL_BASE_URL: service.url, CONSENTCTL_API_KEY: key }
  return await runBinary(args, { env })
}

async function newRecord({ key, siteId }: TestAccount): Promise<string> {
  const { body } = await service.call('POST', '/api/v1/consents', {
    key,
    body: { site_id: siteId, subject_id: subject },
  })
  return body.id
}

async function verify(account: TestAccount, ...args: string[]) {
  const { code, stdout } = await run(account, 'subject', 'verify', 'last', ...args, '-o', 'json')
  const rows = JSON.parse(stdout) as { check: string; result: string; detail: string }[]
  return { code, details: Object.fromEntries(rows.map(({ check, detail }) => [check, detail])) }
}

async function lastReceipt() {
  return JSON.parse((await run(own, 'subject', 'receipts', 'last')).stdout)
}

it('with the key of another account, reveals nothing about the records of the first', async () => {
  await newRecord(own)
  const { key, ...nobody } = other
  const wrong = await run(other, 'subject', 'erase', subject, '--ticket', 'T-1', '--yes')
  expect(wrong).toMatchObject({ code: 0, stderr: expect.stringContaining(`in the account ${nobody.accountId}`) })
  expect(await lastReceipt()).toMatchObject({
    result: 'no_data_held',
    statement: null,
    account_id: other.accountId,
    api_key_id: other.keyId,
  })
  expect(await verify(own, '--live', '--subject', subject)).toMatchObject({
    code: 10,
    details: { live: expect.stringContaining('unknown to this key') },
  })

  expect(await run(own, 'subject', 'erase', subject, '--ticket', 'T-2', '--confirm', '1')).toMatchObject({ code: 0 })
  expect(await lastReceipt()).toMatchObject({
    result: 'erased',
    statement: 'logically deleted; personal data to be purged after 30 days',
    account_id: own.accountId,
    api_key_id: own.keyId,
    records: [{ deleted_at_by: 'service' }],
  })
  expect(await verify(own, '--live', '--subject', subject)).toMatchObject({
    code: 0,
    details: {
      live: `1 record of the receipt shown as deleted, and no live record of the subject in the account ${own.accountId}`,
    },
  })
  expect(await verify(other, '--live', '--subject', subject)).toMatchObject({
    code: 10,
    details: {
      live: `unknown to this key: it is of the account ${other.accountId}, and the receipt of ${own.accountId}`,
    },
  })

  const proof = join(folder.path, 'purged.json')
  const purged = (account: TestAccount) => verify(account, '--purged', '--certificate-out', proof)
  expect(await purged(own)).toMatchObject({ code: 10, details: { purged: expect.stringContaining('1 record not') } })
  await purgeNow(service.sql)
  expect(await purged(other)).toMatchObject({
    code: 10,
    details: { purged: expect.stringContaining('unknown to this key') },
  })
  expect(await purged(own)).toMatchObject({
    code: 0,
    details: { purged: '1 record of the receipt: personal data purged, certified by the service' },
  })
  expect(await run(own, 'verify', proof)).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('purge_certificate'),
  })
  expect(await verify(own, '--live')).toMatchObject({ code: 0 })

  const file = join(folder.path, 'export.json')
  expect(await run(own, 'subject', 'export', subject, '--out', file)).toMatchObject({ code: 0 })
  const manifest = await run(own, 'verify', `${file}.manifest.json`)
  expect(manifest.code).toBe(0)
})

it('subject export includes the stored address and who made each change', async () => {
  const person = 'ana@example.com'
  const body = { site_id: own.siteId, subject_id: person, ip_address: '203.0.113.77' }
  await service.call('POST', '/api/v1/consents', { key: own.key, body })
  const file = join(folder.path, 'ana.json')
  expect(await run(own, 'subject', 'export', person, '--out', file)).toMatchObject({ code: 0 })
  const [{ name: keyName } = { name: '' }] = await service.sql`select name from api_keys where id = ${own.keyId}`
  expect(JSON.parse(readFileSync(file, 'utf8')).records).toMatchObject([
    { subject_id: person, ip_network: '203.0.113.0/24', history: [{ actor_id: own.keyId, actor_name: keyName }] },
  ])
  const signed = JSON.parse(readFileSync(`${file}.manifest.json`, 'utf8'))
  expect(signed).toMatchObject({ version: 1, account_id: own.accountId, api_key_id: own.keyId })
})

it('finds a site by name and a person by a near match, and erases the near match only if it is named', async () => {
  const person = 'Li@Example.com '
  const created = await run(own, 'create', '--site', 'a site', '--subject', person, '-q')
  expect(created).toMatchObject({ code: 0 })
  const near = ['subject', 'find', 'li@example.com', '--like', '-o', 'json']
  const found = JSON.parse((await run(own, ...near)).stdout)
  expect(found).toMatchObject([{ id: created.stdout.trim(), site_id: own.siteId, subject_id: person, match: 'near' }])
  expect(await run(other, ...near)).toMatchObject({ code: 0, stdout: '[]\n' })

  const erase = ['subject', 'erase', 'li@example.com', '--ticket', 'T-3']
  const mistyped = await run(own, ...erase, '--yes')
  expect(mistyped).toMatchObject({ code: 5, stderr: expect.stringContaining(`--also '${person}'`) })
  expect(await run(own, ...erase, '--confirm', '0')).toMatchObject({ code: 0 })
  expect(await lastReceipt()).toMatchObject({ result: 'no_data_held', near_matches: 1 })
  expect(await run(own, ...erase, '--also', person, '--yes')).toMatchObject({ code: 0 })
  expect(await lastReceipt()).toMatchObject({ result: 'erased', near_matches: 0 })
})

it('lets a reader sign in and list the sites of the account, but not create one', async () => {
  const [email, password] = ['reader@example.com', 'the password of a reader']
  await addUser(service.sql, { account: own.accountId, email, role: 'reader', password })
  const env = { HOME: folder.path, CONSENTCTL_BASE_URL: service.url }
  const asReader = (...args: string[]) =>
    runBinary([...args, '--email', email, '--password-stdin'], { env, stdin: password })
  expect(await asReader('sites', 'list', '-q')).toMatchObject({ code: 0, stdout: `${own.siteId}\n` })
  const refused = await asReader('sites', 'create', '--name', 'mine')
  expect(refused).toMatchObject({ code: 4, stdout: '' })
  expect(refused.stderr).toContain('This requires a user with the role owner, not reader.')
})
