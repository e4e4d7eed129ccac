import { HttpResponse, http, type RequestHandler } from 'msw'
import type { Consent } from '../../../src/contract/index.ts'
import type { PurgeOrder, ServerModule } from '../../../src/contract/server.ts'
import { keyIdOf } from '../../../src/evidence/keys.ts'
import {
  apiKeyOf,
  email,
  keysPath,
  managing,
  newKey,
  newToken,
  password,
  signsIn,
  siteOf,
  sitesPath,
} from '../session-fixtures.ts'
import { receiptOf, serviceKey, signedReceipt } from '../signed-consent-receipt.ts'
import { answers, byId, consent, consentsPath, entry, fails, uuid } from '../support.ts'
import { failing, newWebhookOf, webhookOf, webhookPath, webhooksPath } from '../webhook-fixtures.ts'

type Row = Record<string, unknown>

/** A call of a command that prints records: what the instance answers, and what is to be read of the output. */
export interface Case {
  /** As in the tree. */
  readonly name: string
  readonly args: readonly string[]
  readonly handlers: readonly RequestHandler[]
  readonly rows: readonly Row[]
  /** The columns of formats with cells, where they are not the fields of the rows. */
  readonly cells?: readonly Row[]
  readonly single?: boolean
  readonly stdin?: string
  /** The column that `-q` prints; null where that would lose a secret. */
  readonly id: string | null
  /** The column that a table certainly shows, where that is not this one. */
  readonly shown?: string
  readonly loadServer?: () => Promise<ServerModule>
}

const records = [
  consent({
    id: uuid(1),
    subject_id: '=cmd()',
    preferences: { marketing: true, nested: [{ a: null }, 1.5] },
  }),
  consent({ id: uuid(2), subject_id: '田中 太郎', consent_id: '', country: null, accepted: false }),
  consent({ id: uuid(3), user_agent: 'a "b"\\,c', deleted_at: '2026-02-01T00:00:00.000Z' }),
]
const [first = consent(), second = consent()] = records
const people = ['maria@example.com', '=cmd()'].map((subject_id, index) => ({
  id: uuid(index),
  subject_id,
  site_id: uuid(1),
  policy_version: 1,
  notice_held: index === 0,
  notice_locale: index === 0 ? 'de' : null,
  created_at: '2026-01-31T09:30:00.000Z',
  updated_at: '2026-01-31T09:30:00.000Z',
  expires_at: null,
}))
const chain = { version: 1, salt: null, record_hash: null, payload_hash: 'ab'.repeat(32), hash: null }
const entries = [
  entry({ action: 'created', ...chain }),
  entry({ id: uuid(4), action: 'updated', actor_id: null, ...chain, version: 2 }),
]
const usage = {
  month: '2026-11',
  used: 812,
  limit: null,
  remaining: null,
  resets_at: '2026-12-01T00:00:00.000Z',
}
const site = siteOf()
const key = apiKeyOf({ name: 'über, "b"' })
const rotated = { site_id: uuid(5), token: newToken, previous_valid_until: '2026-02-01T00:00:00.000Z' }
const account = {
  account_id: uuid(6),
  user: { id: uuid(7), email, password: 'made up' },
  site: { id: uuid(8), name: 'Shop', token: newToken },
  api_key: newKey,
}
const accountCells = {
  account_id: uuid(6),
  user_id: uuid(7),
  email,
  password: 'made up',
  site_id: uuid(8),
  site_name: 'Shop',
  site_token: newToken,
  api_key: newKey,
}

const purged = [
  { account_id: uuid(6), expired: 2, purged: 12, proofs: 0 },
  { account_id: uuid(9), expired: 0, purged: 1, proofs: 0 },
]

const accountRow = {
  ...{ account_id: uuid(6), email, plan: 'free', monthly_quota: null, used: 3, remaining: null },
  created_at: '2026-01-31T09:30:00.000Z',
}

const userRow = {
  ...{ account_id: uuid(6), id: uuid(7), email, role: 'reader', keys: 2 },
  created_at: '2026-01-31T09:30:00.000Z',
}

const removedRow = { ...userRow, ended_keys: [{ id: uuid(8), name: 'CI' }], kept_keys: [] }

/** The key of these tests, as an instance publishes it. */
const keysFile = 'test/fixtures/consent-keys.json'

const server = async () =>
  ({
    purge: async function* (_: object, { approve }: PurgeOrder) {
      if (await approve(purged, 15)) yield* purged
    },
    createAccount: async () => account,
    listAccounts: async () => [accountRow],
    setQuota: async () => accountRow,
    resetPassword: async () => ({ email, password: 'made up' }),
    addUser: async () => ({ ...userRow, password: 'made up' }),
    listUsers: async () => [userRow],
    removeUser: async () => removedRow,
  }) as unknown as ServerModule

/** A command of somebody who signs in. */
const signedIn = (...more: RequestHandler[]) => ({ handlers: [signsIn(), ...more], stdin: `${password}\n` })
const who = ['--email', email, '--password-stdin']

const byTheirIds = http.get(byId, ({ params }) => HttpResponse.json(records.find(({ id }) => id === params['id'])))

/** A record as the entries have it. */
const asEntries = (record: Consent) => ({
  ...record,
  accepted: true,
  preferences: {},
  policy_version: 1,
  updated_at: '2026-01-31T09:30:00.000Z',
})

/** What an instance says of itself that lists deleted records for those who ask. */
const showsDeleted = {
  paths: { '/api/v1/consents': { get: { parameters: [{ in: 'query', name: 'include_deleted' }] } } },
}

const subjectRecords = [consent({ id: uuid(1) }), consent({ id: uuid(2), user_agent: '=a "b"', country: null })]
const ofSubject = http.get('*/api/v1/*', ({ request }) =>
  request.url.includes('openapi')
    ? HttpResponse.json({ error: 'not_found', message: 'none' }, { status: 404 })
    : HttpResponse.json({ data: subjectRecords, next_cursor: null }),
)

/** A command that prints a list of rows: its words, of which the first `depth` are its name, and what the instance answers. */
const many = (depth: number, args: string[], rows: readonly Row[], own: Partial<Case> = {}): Case => ({
  ...{ name: args.slice(0, depth).join(' '), args, rows, handlers: [], id: 'id' },
  ...own,
})
/** A command that prints one row. */
const one = (depth: number, args: string[], row: Row, own: Partial<Case> = {}) =>
  many(depth, args, [row], { single: true, ...own })
const ask = (...handlers: RequestHandler[]) => ({ handlers })
const admin = (id: string | null) => ({ loadServer: server, id })

const history = answers('get', `${byId}/history`, { data: entries })
const lines = (result: string) => ({
  rows: [1, 2].map(line => ({ line, result, id: uuid(1), error_code: null, message: null })),
  cells: [1, 2].map(line => ({ line, result, id: uuid(1), error_code: null })),
})
const two = [site, siteOf({ id: uuid(9) })]
const keys = [key, apiKeyOf({ id: uuid(9), hint: null })]
const active = (row: Row) => ({ ...row, state: 'active' })
const verified = {
  ...{ file: '-', type: 'consent_receipt', result: 'valid', signed_by: keyIdOf(serviceKey) },
  issued_at: receiptOf().issued_at,
  detail: `the key is from ${keysFile}; its record was not in the log yet`,
}
const { attempts, ...webhook } = webhookOf({ types: ['withdrawn', 'erased'], public_key: 'whpk_=cmd()' })
const { attempts: failed, ...failingWebhook } = failing
const newWebhook = { ...newWebhookOf() }
const planned = { result: 'planned', deleted_at: null, request_id: null }
const granting = [1, 2].map(n => ({
  ...{ id: uuid(n), site_id: uuid(900), purposes: ['marketing'], accepted: true },
  ...{ before: n, version: null, changed_at: null },
}))

export const cases: readonly Case[] = [
  many(
    1,
    ['list', '--include-deleted'],
    records,
    ask(answers('get', consentsPath, { data: records, next_cursor: null })),
  ),
  one(1, ['get', uuid(2)], second, ask(byTheirIds)),
  many(1, ['get', uuid(1), uuid(3), uuid(2)], [first, records[2] ?? first, second], ask(byTheirIds)),
  many(
    1,
    ['list', '--subject', 'a', '--at', '2026-01-31'],
    [first, second].map(asEntries),
    ask(
      answers('get', consentsPath, { data: [first, second], next_cursor: null }),
      history,
      answers('get', '*/api/v1/openapi.json', showsDeleted),
    ),
  ),
  one(
    1,
    ['get', uuid(2), '--at', '2026-01-31'],
    { ...asEntries(second), word: 'service' },
    {
      ...ask(byTheirIds, history),
      cells: [asEntries(second)],
    },
  ),
  many(1, ['history', uuid(1)], entries, { ...ask(history), shown: 'action' }),
  one(1, ['update', uuid(1), '--refused'], first, ask(answers('put', byId, first))),
  one(1, ['rm', uuid(1), '--yes'], first, ask(answers('delete', byId, first))),
  many(1, ['update', '-', '--refused'], [], {
    ...ask(answers('get', byId, first), answers('put', byId, first)),
    ...{ stdin: `${uuid(1)}\n${uuid(1)}\n`, ...lines('updated') },
  }),
  one(
    1,
    ['restore', uuid(1)],
    first,
    ask(
      http.get(byId, () => fails(404, 'not_found')),
      answers('post', `${byId}/restore`, first),
    ),
  ),
  one(1, ['create', '--site', uuid(5)], first, ask(answers('post', consentsPath, first, 201))),
  many(1, ['create', '--site', uuid(5), '--file', '-'], [], {
    ...ask(answers('post', consentsPath, first, 201)),
    ...{ stdin: '{}\n{"accepted":true}\n', ...lines('created') },
  }),
  many(
    2,
    ['subject', 'find', 'maria@example.com'],
    subjectRecords.map(record => ({ ...record, state: 'live' })),
    ask(ofSubject),
  ),
  many(
    2,
    ['subject', 'erase', 'maria@example.com', '--dry-run'],
    subjectRecords.map(({ id, site_id }) => ({ id, site_id, ...planned })),
    ask(ofSubject),
  ),
  many(
    1,
    ['withdraw', 'maria@example.com', '--purpose', 'marketing', '--dry-run'],
    granting.map(({ id, site_id, purposes, before }) => ({
      ...{ id, site_id, result: 'planned', purposes, accepted: null, before },
      ...{ version: null, changed_at: null, request_id: null },
    })),
    ask(
      ofSubject,
      answers('post', '*/api/v1/subjects/withdraw', {
        ...{ withdrawn: granting.length, remaining: granting.length, live: granting.length, not_answered: 0 },
        ...{ complete: false, dry_run: true, records: granting },
      }),
    ),
  ),
  many(2, ['sites', 'list', ...who], two, signedIn(managing('get', sitesPath, () => ({ data: two })))),
  one(
    2,
    ['sites', 'create', '--name', 'Shop', ...who],
    { ...site, token: newToken },
    {
      ...signedIn(managing('post', sitesPath, () => ({ ...site, token: newToken }))),
      id: null,
    },
  ),
  one(
    2,
    ['sites', 'archive', site.id, '--yes', ...who],
    { ...site },
    signedIn(
      managing('get', sitesPath, () => ({ data: [site] })),
      managing('patch', `${sitesPath}/:id`, () => site),
    ),
  ),
  one(2, ['sites', 'rotate-token', site.id, ...who], rotated, {
    ...signedIn(managing('post', `${sitesPath}/:id/token`, () => rotated)),
    id: null,
  }),
  many(2, ['notices', 'who', '--version', '1', '--site', uuid(1)], people, {
    ...ask(answers('get', '*/api/v1/sites/:id/notices/1/subjects', { data: people, limit: 100, next_cursor: null })),
    shown: 'subject_id',
  }),
  many(2, ['keys', 'list', ...who], keys, {
    ...signedIn(managing('get', keysPath, () => ({ data: keys }))),
    cells: keys.map(active),
  }),
  one(
    2,
    ['keys', 'create', '--name', 'a', ...who],
    { ...key, key: newKey },
    {
      ...signedIn(managing('post', keysPath, () => ({ ...key, key: newKey }))),
      ...{ cells: [active({ ...key, key: newKey })], id: null },
    },
  ),
  many(
    2,
    ['webhooks', 'list'],
    [webhook, failingWebhook],
    ask(answers('get', webhooksPath, { data: [webhook, failingWebhook] })),
  ),
  one(
    2,
    ['webhooks', 'show', failing.id],
    { ...failing },
    {
      ...ask(answers('get', webhookPath, failing)),
      cells: [failingWebhook],
    },
  ),
  one(2, ['webhooks', 'create', webhook.url], newWebhook, {
    ...ask(answers('post', webhooksPath, newWebhook, 201)),
    id: null,
  }),
  one(2, ['webhooks', 'rotate-secret', webhook.id], newWebhook, {
    ...ask(answers('post', `${webhookPath}/secret`, newWebhook, 201)),
    id: null,
  }),
  one(2, ['webhooks', 'update', webhook.id, '--resume'], webhook, ask(answers('patch', webhookPath, webhook))),
  one(2, ['webhooks', 'rm', webhook.id, '--yes'], webhook, ask(answers('delete', webhookPath, webhook))),
  one(
    2,
    ['webhooks', 'rewind', webhook.id, '--to', '1041', '--yes'],
    webhook,
    ask(answers('post', `${webhookPath}/rewind`, webhook)),
  ),
  one(1, ['verify', '-', '--keys', keysFile], verified, { stdin: signedReceipt(), id: 'file' }),
  one(1, ['usage'], usage, { ...ask(answers('get', '*/api/v1/usage', usage)), id: 'month' }),
  one(3, ['admin', 'account', 'create', '--email', email], account, { ...admin(null), cells: [accountCells] }),
  many(3, ['admin', 'account', 'list'], [accountRow], admin('account_id')),
  one(3, ['admin', 'account', 'quota', email, 'none'], accountRow, admin('account_id')),
  one(
    3,
    ['admin', 'user', 'add', '--email', email, '--role', 'reader'],
    { ...userRow, password: 'made up' },
    admin(null),
  ),
  many(3, ['admin', 'user', 'list'], [userRow], admin('email')),
  one(3, ['admin', 'user', 'remove', '--email', email, '--yes'], removedRow, admin('email')),
  one(3, ['admin', 'user', 'password', '--email', email], { email, password: 'made up' }, admin(null)),
  many(2, ['admin', 'purge', '--dry-run'], purged, admin('account_id')),
]
