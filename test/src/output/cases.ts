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
  { account_id: uuid(6), expired: 2, purged: 12 },
  { account_id: uuid(9), expired: 0, purged: 1 },
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

export const cases: readonly Case[] = [
  {
    name: 'list',
    args: ['list', '--include-deleted'],
    handlers: [answers('get', consentsPath, { data: records, next_cursor: null })],
    rows: records,
    id: 'id',
  },
  { name: 'get', args: ['get', uuid(2)], handlers: [byTheirIds], rows: [second], single: true, id: 'id' },
  {
    name: 'get',
    args: ['get', uuid(1), uuid(3), uuid(2)],
    handlers: [byTheirIds],
    rows: [first, records[2] ?? first, second],
    id: 'id',
  },
  {
    name: 'list',
    args: ['list', '--subject', 'a', '--at', '2026-01-31'],
    handlers: [
      answers('get', consentsPath, { data: [first, second], next_cursor: null }),
      answers('get', `${byId}/history`, { data: entries }),
      answers('get', '*/api/v1/openapi.json', showsDeleted),
    ],
    rows: [first, second].map(asEntries),
    id: 'id',
  },
  {
    name: 'get',
    args: ['get', uuid(2), '--at', '2026-01-31'],
    handlers: [byTheirIds, answers('get', `${byId}/history`, { data: entries })],
    rows: [{ ...asEntries(second), word: 'service' }],
    cells: [asEntries(second)],
    single: true,
    id: 'id',
  },
  {
    name: 'history',
    args: ['history', uuid(1)],
    handlers: [answers('get', `${byId}/history`, { data: entries })],
    rows: entries,
    id: 'id',
    shown: 'action',
  },
  {
    name: 'update',
    args: ['update', uuid(1), '--refused'],
    handlers: [answers('put', byId, first)],
    rows: [first],
    single: true,
    id: 'id',
  },
  {
    name: 'rm',
    args: ['rm', uuid(1), '--yes'],
    handlers: [answers('delete', byId, first)],
    rows: [first],
    single: true,
    id: 'id',
  },
  {
    name: 'update',
    args: ['update', '-', '--refused'],
    handlers: [answers('get', byId, first), answers('put', byId, first)],
    stdin: `${uuid(1)}\n${uuid(1)}\n`,
    rows: [1, 2].map(line => ({ line, result: 'updated', id: uuid(1), error_code: null, message: null })),
    cells: [1, 2].map(line => ({ line, result: 'updated', id: uuid(1), error_code: null })),
    id: 'id',
  },
  {
    name: 'restore',
    args: ['restore', uuid(1)],
    handlers: [http.get(byId, () => fails(404, 'not_found')), answers('post', `${byId}/restore`, first)],
    rows: [first],
    single: true,
    id: 'id',
  },
  {
    name: 'create',
    args: ['create', '--site', uuid(5)],
    handlers: [answers('post', consentsPath, first, 201)],
    rows: [first],
    single: true,
    id: 'id',
  },
  {
    name: 'create',
    args: ['create', '--site', uuid(5), '--file', '-'],
    handlers: [answers('post', consentsPath, first, 201)],
    stdin: '{}\n{"accepted":true}\n',
    rows: [1, 2].map(line => ({ line, result: 'created', id: uuid(1), error_code: null, message: null })),
    cells: [1, 2].map(line => ({ line, result: 'created', id: uuid(1), error_code: null })),
    id: 'id',
  },
  {
    name: 'subject find',
    args: ['subject', 'find', 'maria@example.com'],
    handlers: [ofSubject],
    rows: subjectRecords.map(record => ({ ...record, state: 'live' })),
    id: 'id',
  },
  {
    name: 'subject erase',
    args: ['subject', 'erase', 'maria@example.com', '--dry-run'],
    handlers: [ofSubject],
    rows: subjectRecords.map(({ id, site_id }) => ({
      id,
      site_id,
      result: 'planned',
      deleted_at: null,
      request_id: null,
    })),
    id: 'id',
  },
  {
    name: 'sites list',
    args: ['sites', 'list', ...who],
    ...signedIn(managing('get', sitesPath, () => ({ data: [site, siteOf({ id: uuid(9) })] }))),
    rows: [site, siteOf({ id: uuid(9) })],
    id: 'id',
  },
  {
    name: 'sites create',
    args: ['sites', 'create', '--name', 'Shop', ...who],
    ...signedIn(managing('post', sitesPath, () => ({ ...site, token: newToken }))),
    rows: [{ ...site, token: newToken }],
    single: true,
    id: null,
  },
  {
    name: 'sites update',
    args: ['sites', 'update', site.id, '--name', 'Shop', ...who],
    ...signedIn(managing('patch', `${sitesPath}/:id`, () => site)),
    rows: [site],
    single: true,
    id: 'id',
  },
  {
    name: 'sites archive',
    args: ['sites', 'archive', site.id, '--yes', ...who],
    ...signedIn(
      managing('get', sitesPath, () => ({ data: [site] })),
      managing('patch', `${sitesPath}/:id`, () => site),
    ),
    rows: [site],
    single: true,
    id: 'id',
  },
  {
    name: 'sites rotate-token',
    args: ['sites', 'rotate-token', site.id, ...who],
    ...signedIn(managing('post', `${sitesPath}/:id/token`, () => rotated)),
    rows: [rotated],
    single: true,
    id: null,
  },
  {
    name: 'notices who',
    args: ['notices', 'who', '--version', '1', '--site', uuid(1)],
    handlers: [
      answers('get', '*/api/v1/sites/:id/notices/1/subjects', { data: people, limit: 100, next_cursor: null }),
    ],
    rows: people,
    id: 'id',
    shown: 'subject_id',
  },
  {
    name: 'keys list',
    args: ['keys', 'list', ...who],
    ...signedIn(managing('get', keysPath, () => ({ data: [key, apiKeyOf({ id: uuid(9), hint: null })] }))),
    rows: [key, apiKeyOf({ id: uuid(9), hint: null })],
    cells: [key, apiKeyOf({ id: uuid(9), hint: null })].map(row => ({ ...row, state: 'active' })),
    id: 'id',
  },
  {
    name: 'keys create',
    args: ['keys', 'create', '--name', 'a', ...who],
    ...signedIn(managing('post', keysPath, () => ({ ...key, key: newKey }))),
    rows: [{ ...key, key: newKey }],
    cells: [{ ...key, key: newKey, state: 'active' }],
    single: true,
    id: null,
  },
  {
    name: 'keys revoke',
    args: ['keys', 'revoke', key.id, '--yes', ...who],
    ...signedIn(managing('delete', `${keysPath}/:id`, () => key)),
    rows: [key],
    cells: [{ ...key, state: 'active' }],
    single: true,
    id: 'id',
  },
  {
    name: 'verify',
    args: ['verify', '-', '--keys', keysFile],
    handlers: [],
    stdin: signedReceipt(),
    rows: [
      {
        file: '-',
        type: 'consent_receipt',
        result: 'valid',
        signed_by: keyIdOf(serviceKey),
        issued_at: receiptOf().issued_at,
        detail: `the key is from ${keysFile}; its record was not in the log yet`,
      },
    ],
    single: true,
    id: 'file',
  },
  {
    name: 'usage',
    args: ['usage'],
    handlers: [answers('get', '*/api/v1/usage', usage)],
    rows: [usage],
    single: true,
    id: 'month',
  },
  {
    name: 'admin account create',
    args: ['admin', 'account', 'create', '--email', email],
    handlers: [],
    loadServer: server,
    rows: [account],
    cells: [accountCells],
    single: true,
    id: null,
  },
  {
    name: 'admin account list',
    args: ['admin', 'account', 'list'],
    handlers: [],
    loadServer: server,
    rows: [accountRow],
    id: 'account_id',
  },
  {
    name: 'admin account quota',
    args: ['admin', 'account', 'quota', email, 'none'],
    handlers: [],
    loadServer: server,
    rows: [accountRow],
    single: true,
    id: 'account_id',
  },
  {
    name: 'admin user add',
    args: ['admin', 'user', 'add', '--email', email, '--role', 'reader'],
    handlers: [],
    loadServer: server,
    rows: [{ ...userRow, password: 'made up' }],
    single: true,
    id: null,
  },
  {
    name: 'admin user list',
    args: ['admin', 'user', 'list'],
    handlers: [],
    loadServer: server,
    rows: [userRow],
    id: 'email',
  },
  {
    name: 'admin user remove',
    args: ['admin', 'user', 'remove', '--email', email, '--yes'],
    handlers: [],
    loadServer: server,
    rows: [removedRow],
    single: true,
    id: 'email',
  },
  {
    name: 'admin user password',
    args: ['admin', 'user', 'password', '--email', email],
    handlers: [],
    loadServer: server,
    rows: [{ email, password: 'made up' }],
    single: true,
    id: null,
  },
  {
    name: 'admin purge',
    args: ['admin', 'purge', '--dry-run'],
    handlers: [],
    loadServer: server,
    rows: purged,
    id: 'account_id',
  },
]
