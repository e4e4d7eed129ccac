import { createHash, randomUUID } from 'node:crypto'
import { beforeEach, describe, expect, it } from 'vitest'
import { resetPassword, setQuota } from '../../../server/accounts/service.ts'
import { addUser, removeUser } from '../../../server/accounts/users.ts'
import { machine } from '../../../server/audit/entries.ts'
import { purge, purgeBefore, purgeJob } from '../../../server/purge/service.ts'
import { type Signed, type TestAccount, untilAdmitted, useService } from '../../support/service.ts'

const service = useService()

let account: TestAccount
let session: Signed

beforeEach(async () => {
  account = await service.newAccount()
  session = await service.signIn(account)
})

type State = Readonly<Record<string, unknown>>

interface Entry {
  readonly at: string
  readonly action: string
  readonly actor: { readonly kind: string }
  readonly target: object
  readonly before: State | null
  readonly after: State | null
  readonly nonce: string
}

interface Row {
  version: number
  document: string
  created_at: Date
  logged: Buffer | null
}

const sha256 = (text: string) => createHash('sha256').update(text).digest()

/** Reads the chain, whose hashes, log rows and head are as they must be. */
async function readChain(): Promise<Entry[]> {
  const rows = await service.sql<Row[]>`
    select e.version, e.document, e.created_at, l.hash as logged from account_entries e
    left join log_entries l on l.account_id = e.account_id and l.consent_id = e.account_id and l.version = e.version
    where e.account_id = ${account.accountId} order by e.version`
  const [head] = await service.sql`
    select entries, entries_head from accounts where account_id = ${account.accountId}`
  let previous: string | null = null
  const documents = rows.map(({ version, document, created_at, logged }, index) => {
    const entry: Entry = JSON.parse(document)
    expect(entry).toMatchObject({ type: 'account_entry', version: index + 1, account_id: account.accountId, previous })
    expect([version, created_at.toISOString()]).toEqual([index + 1, entry.at])
    expect(logged).toEqual(sha256(document))
    expect(entry.nonce).toMatch(/^[\da-f]{32}$/)
    previous = sha256(document).toString('hex')
    return entry
  })
  expect([head?.['entries'], head?.['entries_head']?.toString('hex')]).toEqual([rows.length, previous])
  return documents
}

const path = () => `/api/v1/sites/${account.siteId}`
const site = () => ({ kind: 'site', id: account.siteId })
const user = () => ({ kind: 'user', id: account.userId })
const admin = { kind: 'admin', id: null }

describe('entries of the administrators’ log', () => {
  it('start with the account as it was created', async () => {
    const [created] = await readChain()
    expect(created).toMatchObject({ action: 'account_created', actor: admin, before: null })
    expect(created?.target).toEqual({ kind: 'account', id: account.accountId })
    expect(created?.after).toMatchObject({
      plan: 'unlimited',
      monthly_quota: null,
      users: [{ id: account.userId, role: 'owner', password_sha256: expect.stringMatching(/^[\da-f]{64}$/) }],
      sites: [{ id: account.siteId, tokens: [{ token_sha256: sha256(account.siteToken).toString('hex') }] }],
      keys: [{ key_sha256: sha256(account.key).toString('hex'), scopes: ['read', 'write', 'erase'] }],
    })
  })

  it('contain only changed values; an update without changes writes no entry', async () => {
    await service.call('PATCH', path(), { body: { name: 'Shop', policy_version: 2 }, headers: session })
    await service.call('PATCH', path(), { body: { name: 'Shop', policy_version: 2 }, headers: session })
    const [, changed, ...others] = await readChain()
    const updated_at = expect.any(String)
    expect(changed).toMatchObject({ action: 'site_updated', actor: user(), target: site() })
    expect(changed?.before).toEqual({ name: expect.any(String), policy_version: 1, updated_at })
    expect(changed?.after).toEqual({ name: 'Shop', policy_version: 2, updated_at: changed?.at })
    expect(others).toEqual([])
  })

  it('record every setting', async () => {
    const email = `${randomUUID()}@example.com`
    const { body: made } = await service.call('POST', '/api/v1/sites', { body: { name: 'Blog' }, headers: session })
    const { body: rotated } = await service.call('POST', `${path()}/token`, { body: {}, headers: session })
    const { body: key } = await service.call('POST', '/api/v1/keys', { body: { name: 'CI' }, headers: session })
    await service.call('DELETE', `/api/v1/keys/${key.id}`, { headers: session })
    await addUser(service.sql, { account: account.accountId, email, role: 'reader' })
    await resetPassword(service.sql, { email })
    await removeUser(service.sql, { email })
    await setQuota(service.sql, { account: account.accountId, monthlyQuota: 7 })
    await setQuota(service.sql, { account: account.accountId, monthlyQuota: 7 })
    const entries = (await readChain()).slice(1)
    expect(entries.map(({ action, actor }) => [action, actor.kind])).toEqual([
      ['site_created', 'user'],
      ['site_token_rotated', 'user'],
      ['key_created', 'user'],
      ['key_revoked', 'user'],
      ['user_added', 'admin'],
      ['password_changed', 'admin'],
      ['user_removed', 'admin'],
      ['quota_changed', 'admin'],
    ])
    const [site, token, created, revoked, added, password, removed, quota] = entries
    const digest = (text: string) => sha256(text).toString('hex')
    expect(site).toMatchObject({
      before: null,
      after: { name: 'Blog', tokens: [{ token_sha256: digest(made.token) }] },
    })
    const [before] = (token?.before?.['tokens'] ?? []) as State[]
    expect(before).toMatchObject({ token_sha256: digest(account.siteToken), expires_at: null })
    expect(token?.after?.['tokens']).toHaveLength(2)
    expect(token?.after?.['tokens']).toContainEqual({ ...before, expires_at: rotated.previous_valid_until })
    expect(created).toMatchObject({ before: null, after: { name: 'CI', key_sha256: digest(key.key) } })
    expect(revoked).toMatchObject({ before: { revoked_at: null }, after: { revoked_at: revoked?.at } })
    expect(added).toMatchObject({ before: null, after: { email, role: 'reader' } })
    expect(password?.before).toEqual({ password_sha256: added?.after?.['password_sha256'] })
    expect(removed).toMatchObject({
      after: null,
      before: { email, password_sha256: password?.after?.['password_sha256'] },
    })
    expect(quota).toMatchObject({ before: { monthly_quota: null }, after: { monthly_quota: 7 } })
    const secrets = [account.siteToken, account.key, made.token, rotated.token, key.key]
    for (const secret of secrets) expect(JSON.stringify(entries)).not.toContain(secret)
  })

  it('record how many records were purged, and by whom', async () => {
    const signal = new AbortController().signal
    const newDeleted = async () => {
      const { body } = await service.call('POST', '/api/v1/consents', {
        key: account.key,
        body: { site_id: account.siteId },
      })
      await service.call('DELETE', `/api/v1/consents/${body.id}`, { key: account.key })
      return body.id as string
    }
    const ids = [await newDeleted(), await newDeleted()]
    await service.call('POST', '/api/v1/subjects/purge', { body: { ids }, headers: session })
    await service.call('POST', '/api/v1/subjects/purge', { body: { ids }, headers: session })
    await newDeleted()
    await purgeJob(service.sql, { purgeAfterDays: 0 }).run(signal)
    await newDeleted()
    const options = { by: machine, before: purgeBefore(0), signal, onUnverified: () => {} }
    for await (const _ of purge(service.sql, options));
    const entries = (await readChain()).slice(1)
    expect(entries.map(({ action, actor, before, after }) => [action, actor, before, after])).toEqual([
      ['records_purged', user(), null, { records: 2 }],
      ['records_purged', { kind: 'system', id: null }, null, { records: 1 }],
      ['records_purged', admin, null, { records: 1 }],
    ])
  })

  it('when changes are concurrent, form one chain without forks', async () => {
    const count = 40
    let sent = 0
    const send: typeof service.call = (...args) => {
      sent += 1
      return service.call(...args)
    }
    await Promise.all(
      Array.from({ length: count }, (_, n) =>
        untilAdmitted(() =>
          n % 4 === 3
            ? send('POST', '/api/v1/keys', { body: { name: `key ${n}` }, headers: session })
            : send('PATCH', path(), { body: { name: `name ${n}`, policy_version: n + 2 }, headers: session }),
        ),
      ),
    )
    const entries = (await readChain()).slice(1)
    expect(entries.length).toBeGreaterThanOrEqual(count)
    expect(entries.length).toBeLessThanOrEqual(sent) // a change answered with 503 may have been made, and was sent again
    let name: unknown
    for (const { before, after } of entries.filter(({ action }) => action === 'site_updated')) {
      if (name !== undefined) expect(before?.['name']).toBe(name)
      name = after?.['name']
    }
    const { body } = await service.call('GET', '/api/v1/sites', { headers: session })
    expect(body.data[0].name).toBe(name)
  })
})
