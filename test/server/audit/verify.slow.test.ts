import type { Sql } from 'postgres'
import { beforeEach, describe, expect, it } from 'vitest'
import { machine } from '../../../server/audit/entries.ts'
import { purge, purgeBefore } from '../../../server/purge/service.ts'
import { setPassword } from '../../../server/session/queries.ts'
import { type Signed, type TestAccount, useService } from '../../support/service.ts'
import { verified } from '../verify/verified.ts'

const service = useService()
let sql: Sql
let account: TestAccount
let session: Signed

/** An account with entries of several kinds: 1 is its creation, 2 and 3 are of its site, 4 and 5 of a key. */
beforeEach(async () => {
  sql = service.sql
  account = await service.newAccount()
  session = await service.signIn(account)
  await change({ name: 'Shop', allowed_origins: ['https://shop.example'] })
  await service.call('POST', `/api/v1/sites/${account.siteId}/token`, { body: {}, headers: session })
  const { body } = await service.call('POST', '/api/v1/keys', { body: { name: 'CI' }, headers: session })
  await service.call('DELETE', `/api/v1/keys/${body.id}`, { headers: session })
})

const change = (body: object) => service.call('PATCH', `/api/v1/sites/${account.siteId}`, { body, headers: session })

const found = async () => (await verified(sql, { account: account.accountId })).findings

const own = () => sql`account_id = ${account.accountId}`

describe('verification of the administrators’ log', () => {
  it('reports no problem while settings are changed, records purged and passwords set', async () => {
    let isOver = false
    const writing = Promise.all(
      [0, 1, 2].map(async writer => {
        for (let round = 0; round < 12; round += 1) {
          await change({
            name: `${writer} ${round}`,
            policy_version: round + 1,
            retention: { period: `P${writer + 1}D`, after: 'last_change' },
          })
          await service.call('POST', '/api/v1/keys', { body: { name: `${writer} ${round}` }, headers: session })
          const { accountId, userId } = account
          const password = { passwordHash: `${writer} ${round}`, at: new Date() }
          await setPassword(sql, { accountId, userId }, password, machine)
          const record = { key: account.key, body: { site_id: account.siteId } }
          const { body } = await service.call('POST', '/api/v1/consents', record)
          await service.call('DELETE', `/api/v1/consents/${body.id}`, { key: account.key })
          const signal = new AbortController().signal
          for await (const _ of purge(sql, { before: purgeBefore(0), signal, onUnverified: () => {} }));
          session = await service.signIn(account) // a password ends sessions
        }
      }),
    ).finally(() => {
      isOver = true
    })
    const findings: object[] = []
    while (!isOver) findings.push(...(await found()))
    await writing
    expect([...findings, ...(await found())]).toEqual([])
  })

  it.each<[string, () => Promise<unknown>, { problem: string; detail: RegExp; version?: number }]>([
    [
      'the text of an entry',
      () => sql`update account_entries set document = replace(document, 'Shop', 'Chop') where ${own()}`,
      { version: 2, problem: 'changed', detail: /^entry 2 of .* hash/ },
    ],
    [
      'an entry and its hash',
      () => sql`
        with changed as (
          update account_entries set document = replace(document, 'CI', 'CD') where ${own()} and version = 4 returning *
        )
        update log_entries l set hash = sha256(convert_to(document, 'UTF8')) from changed c
        where l.account_id = c.account_id and l.consent_id = c.account_id and l.version = 4`,
      { version: 5, problem: 'reordered', detail: /^entry 5 of .* does not follow/ },
    ],
    [
      'the time of an entry',
      () => sql`update account_entries set created_at = now() - interval '1 day' where ${own()} and version = 3`,
      { version: 3, problem: 'changed', detail: /column/ },
    ],
    [
      'that there is an entry',
      () => sql`delete from account_entries where ${own()} and version = 3`,
      { version: 3, problem: 'lost', detail: /^entry 3 / },
    ],
    [
      'that there was an entry, in the log too',
      async () => {
        await sql`delete from account_entries where ${own()} and version = 3`
        await sql`delete from log_entries where ${own()} and consent_id = account_id and version = 3`
      },
      { problem: 'lost', detail: /log lacks entry 3$/ },
    ],
    [
      'that there is a further entry',
      () => sql`
        insert into account_entries select account_id, 6, document, created_at from account_entries where ${own()} and version = 5`,
      { version: 6, problem: 'forged', detail: /^entry 6 / },
    ],
    [
      'that the last one was there',
      async () => {
        await sql`delete from account_entries where ${own()} and version = 5`
        await sql`delete from log_entries where ${own()} and consent_id = account_id and version = 5`
      },
      { problem: 'shortened', detail: /has 4 entries/ },
    ],
    [
      'the head of the account',
      () => sql`update accounts set entries_head = sha256('x') where ${own()}`,
      { problem: 'changed', detail: /head is not the last entry/ },
    ],
    [
      'a policy version',
      () => sql`update sites set policy_version = 9 where ${own()}`,
      { problem: 'changed', detail: /^the policy_version of the site / },
    ],
    [
      'a token',
      () => sql`update site_tokens set token_hash = sha256('x') where ${own()} and expires_at is null`,
      { problem: 'changed', detail: /^the tokens of the site / },
    ],
    [
      'the scopes of a key',
      () => sql`update api_keys set scopes = '["read"]' where ${own()}`,
      { problem: 'changed', detail: /^the scopes of the api_key / },
    ],
    [
      'that a key was revoked',
      () => sql`update api_keys set revoked_at = null where ${own()} and name = 'CI'`,
      { problem: 'changed', detail: /^the revoked_at of the api_key / },
    ],
    [
      'that there is a key',
      () => sql`delete from api_keys where ${own()} and name = 'CI'`,
      { problem: 'lost', detail: /^the api_key .* is missing/ },
    ],
    [
      'who signs in',
      () => sql`update logins set user_id = gen_random_uuid() where ${own()}`,
      { problem: 'forged', detail: /does not have the user/ },
    ],
    [
      'a password',
      () => sql`update users set password_hash = 'mine' where ${own()}`,
      { problem: 'changed', detail: /^the password_sha256 of the user / },
    ],
    [
      'a quota',
      () => sql`update accounts set monthly_quota = 9 where ${own()}`,
      { problem: 'changed', detail: /^the monthly_quota of the account / },
    ],
  ])('reports a change of %s', async (_, edit, { detail, ...expected }) => {
    expect(await found()).toEqual([])
    await edit()
    const wanted = { consent_id: null, ...expected, detail: expect.stringMatching(detail) }
    expect(await found()).toContainEqual(expect.objectContaining(wanted))
  })

  it('reports an edit that the service has overwritten since', async () => {
    await sql`update sites set name = 'Chop' where ${own()}`
    await change({ name: 'Shop again' })
    const detail = expect.stringMatching(/^entry 6 .* contradicts the earlier name of the site /)
    expect(await found()).toMatchObject([{ version: 6, problem: 'changed', detail }])
  })
})
