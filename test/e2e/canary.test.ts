import { readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import postgres, { type Sql } from 'postgres'
import { request } from 'undici'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import type { NewAccount } from '../../src/contract/server.ts'
import { endpoints } from '../server/endpoints.ts'
import { converse } from '../server/http/raw-connection.ts'
import { runBinary, useFolder } from '../support/cli.ts'
import { type ServerProcess, startServer } from '../support/server.ts'
import { newDatabase } from './campaign.ts'
import { Canaries } from './canaries.ts'

const folder = useFolder()
const canaries = new Canaries()
const consents = '/api/v1/consents'

/** Places whose texts an error's body may repeat to their sender: the names of fields and parameters. */
const echoed = ['field name', 'parameter name', 'key twice']

let server: ServerProcess
let sql: Sql
let account: NewAccount
let cookie: string
/** Bodies of errors, and metrics. */
const bodies: string[] = []
let metrics = ''
let processList = ''

/** Errors of the database that quote the row, as PostgreSQL's own do; named by the record's consent_id. */
const troubles = ['P0001', '23514', '23505', '23503', '22P02', '40001', '53100', '57014', '42P01', 'XX000']

beforeAll(async () => {
  const env = await environment()
  const password = canaries.make('password')
  const email = `${canaries.make('email')}@example.com`
  const made = await runBinary(['admin', 'account', 'create', '--email', email, '--password-stdin', '--json'], {
    env,
    stdin: password,
  })
  account = JSON.parse(made.stdout) as NewAccount
  canaries.add('API key', account.api_key)
  canaries.add('site token', account.site.token)
  server = await startServer(['--port', '0'], env)
  const path = join(folder.path, 'data', '.s.PGSQL.5432')
  sql = env.DATABASE_URL ? postgres(env.DATABASE_URL) : postgres({ path, user: 'postgres' })
  await makeTrouble()
  cookie = await signIn(email, password)
  await signIn(email, canaries.make('wrong password'))
  for (const { endpoint } of endpoints) {
    const { method, path } = endpoint
    for (const credential of credentials()) await tryOut(method, path, credential)
    for (const wrong of wrongCredentials()) await send(method, path, wrong, '{}')
  }
  for (const code of troubles) await send('POST', consents, bearer(), JSON.stringify(draft(code)))
  await send('POST', consents, bearer(), JSON.stringify(draft('slow')))
  const flood = { 'x-site-token': account.site.token, 'x-forwarded-for': address('X-Forwarded-For') }
  for (let count = 0; count < 65; count += 1) await send('POST', '/api/v1/public/consent', flood, '{}')
  await nearlyHttp()
  const url = /"metrics":"([^"]+)"/.exec(server.output())?.[1] ?? ''
  metrics = await (await request(url)).body.text()
  processList = readFileSync(`/proc/${server.child.pid}/cmdline`, 'utf8')
  await delay(100)
  await server.end('SIGTERM')
}, 120_000)

afterAll(async () => {
  await server?.end('SIGKILL')
  await sql?.end({ timeout: 1 })
})

/** The server's, with a secret in each variable that may have one. */
async function environment() {
  const url = inject('clusterUrl') ? new URL(await newDatabase('consentctl_test_canary')) : null
  if (url) url.password = canaries.make('database password')
  const session = { SESSION_SECRET: canaries.make('session secret') }
  const database = { CONSENTCTL_DATA_DIR: join(folder.path, 'data'), DATABASE_URL: url?.href }
  return {
    HOME: folder.path,
    LOG_LEVEL: 'debug',
    METRICS_PORT: '0',
    TRUST_PROXY: '127.0.0.1',
    ...session,
    ...database,
  }
}

/** A database that fails in each way when a record says so. */
async function makeTrouble(): Promise<void> {
  await sql.unsafe(`
    create function make_trouble() returns trigger language plpgsql as $$ begin
      if new.consent_id = 'slow' then perform pg_sleep(5.5);
      elsif new.consent_id ~ '^[0-9A-Z]{5}$' then
        raise exception using errcode = new.consent_id, detail = new::text, hint = new.user_agent,
          message = new.subject_id || E'\\n    at ' || new.subject_id || E' (file.js:1:1)\\n' || new::text;
      end if;
      return new;
    end $$;
    create trigger trouble before insert on consents for each row execute function make_trouble()`)
}

/** A draft with a text of its own in each field that is somebody's. */
function draft(consentId: string) {
  return {
    site_id: account.site.id,
    consent_id: consentId,
    subject_id: canaries.make('subject_id'),
    user_agent: canaries.make('user_agent'),
    ip_address: address('ip_address'),
    notice_locale: canaries.add('notice_locale', `de-${Math.random().toString(16).slice(2, 10).padEnd(8, '0')}`),
    accepted: true,
    preferences: { [canaries.make('preference')]: canaries.make('preference value') },
    circumstances: {
      channel: canaries.make('channel'),
      form: canaries.make('form'),
      given_by: 'agent',
      relation: canaries.make('relation'),
      reference: canaries.make('reference'),
      note: canaries.make('note'),
    },
  }
}

/** A public address that no other line has; found by its first three numbers, which are all that is kept of it. */
function address(place: string): string {
  const network = [203, 1, 2].map(number => (number === 203 ? 203 : Math.floor(Math.random() * 156) + 100)).join('.')
  canaries.add(place, `${network}.`)
  return `${network}.77`
}

function bearer(): Record<string, string> {
  return { authorization: `Bearer ${account.api_key}` }
}

/** One of every kind. */
function credentials(): Record<string, string>[] {
  return [bearer(), { cookie, origin: server.url }, { 'x-site-token': account.site.token }]
}

function wrongCredentials(): Record<string, string>[] {
  return [
    { authorization: `Bearer ${canaries.make('wrong key')}` },
    { authorization: `Basic ${canaries.make('basic')}` },
    { cookie: `consent_session=${canaries.make('wrong session')}`, origin: server.url },
    { 'x-site-token': canaries.make('wrong site token') },
  ]
}

/** An endpoint with good and bad bodies, queries and paths. */
async function tryOut(method: string, template: string, credential: Record<string, string>): Promise<void> {
  const path = template.replace(':id', canaries.make('path'))
  const good = draft(canaries.make('consent_id'))
  const { site_id, ip_address, user_agent, ...visit } = good
  const body = path.includes('public') ? visit : good
  const twice = canaries.make('key twice')
  const wrong = [
    { ...body, [canaries.make('field name')]: canaries.make('field value') },
    { ...body, accepted: canaries.make('boolean'), policy_version: canaries.make('integer') },
    { email: canaries.make('other email'), password: canaries.make('other password') },
    {
      name: canaries.make('name'),
      allowed_origins: [canaries.make('origin')],
      scopes: [canaries.make('scope')],
    },
  ].map(value => JSON.stringify(value))
  const broken = [
    `{"subject_id":"${canaries.make('broken JSON')}"`,
    `{"${twice}":1,"${twice}":2}`,
    canaries.make('no JSON'),
    JSON.stringify({ ...body, subject_id: canaries.make('too long').repeat(5000) }),
  ]
  for (const text of [JSON.stringify(body), ...wrong, ...broken]) await send(method, path, credential, text)
  const value = canaries.make('query value')
  for (const query of [`subject_id=${value}`, `${canaries.make('parameter name')}=1`, `cursor=${value}&%zz`, '']) {
    await send(method, `${path}?${query}`, credential, undefined)
  }
  await send(method, `/${canaries.make('unknown path')}`, credential, undefined)
  await send(method, `${path}/%zz${canaries.make('bad path')}`, credential, undefined)
}

/** Sends a request with a text of its own in every header that may have one, and keeps the body of an error. */
async function send(
  method: string,
  path: string,
  credential: Record<string, string>,
  body: string | undefined,
): Promise<void> {
  const answer = await request(server.url + path, {
    method: method as 'GET',
    headers: {
      'user-agent': canaries.make('header user agent'),
      'x-forwarded-for': address('X-Forwarded-For'),
      'x-request-id': canaries.make('X-Request-Id'),
      'idempotency-key': canaries.make('Idempotency-Key'),
      referer: `https://shop.example/${canaries.make('Referer')}`,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...credential,
    },
    ...(body === undefined || method === 'GET' ? {} : { body }),
  })
  const text = await answer.body.text()
  if (answer.statusCode >= 400) bodies.push(text)
  else keepSecrets(text)
}

/** Secrets that an answer gives to its reader: keys and tokens, each this once. */
function keepSecrets(text: string): void {
  for (const [secret] of text.matchAll(/\bs[kt]-\w{40,}/g)) canaries.add('new key or token', secret)
}

async function signIn(email: string, password: string): Promise<string> {
  const answer = await request(`${server.url}/api/v1/session`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ email, password }),
  })
  const text = await answer.body.text()
  if (answer.statusCode >= 400) bodies.push(text)
  const given = /^(consent_session=([^;]+))/.exec(String(answer.headers['set-cookie'] ?? ''))
  return given?.[2] ? `consent_session=${canaries.add('session', given[2])}` : ''
}

/** What is hardly HTTP, and what is given up half-way. */
async function nearlyHttp(): Promise<void> {
  const head = `POST ${consents} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${account.api_key}\r\n`
  const length = 'Content-Type: application/json\r\nContent-Length: 5000\r\n\r\n'
  const raw = [
    `${head}${canaries.make('raw header')} : x\r\n\r\n`,
    `GET /${canaries.make('raw path')} HTTP/9.9\r\n\r\n`,
    `${head}X: ${canaries.make('large header').repeat(5000)}\r\n\r\n`,
    `${canaries.make('raw words')}\r\n\r\n`,
    `CONNECT ${canaries.make('connect')}:443 HTTP/1.1\r\nHost: x\r\n\r\n`,
  ]
  for (const bytes of raw) bodies.push(...(await converse(server.url, bytes)).map(({ text }) => text))
  const { hostname, port } = new URL(server.url)
  const slow = JSON.stringify(draft('slow'))
  const abandoned = [
    `${head}${length}{"subject_id":"${canaries.make('half a body')}"`,
    `${head}Content-Type: application/json\r\nContent-Length: ${slow.length}\r\n\r\n${slow}`,
  ]
  for (const bytes of abandoned) {
    const socket = connect(Number(port), hostname).on('error', () => {})
    socket.write(bytes)
    await delay(200)
    socket.resetAndDestroy()
  }
  await delay(200)
}

describe.skipIf(process.platform !== 'linux')('secrets and personal data', () => {
  const lines = () =>
    server
      .output()
      .split('\n')
      .filter(line => line.startsWith('{'))
      .map(line => JSON.parse(line) as Record<string, unknown>)

  it('never appear in the server’s output, which logs every kind of response', () => {
    const told = lines()
    const statuses = new Set(told.map(({ status }) => status))
    expect([...statuses]).toEqual(expect.arrayContaining([200, 201, 400, 401, 403, 404, 409, 413, 429, 499, 500, 503]))
    const codes = new Set(told.map(({ code }) => code))
    expect([...codes]).toEqual(expect.arrayContaining(['P0001', '23514', '40001', '53100', '57014', '42P01', 'XX000']))
    expect(told.some(({ stack }) => Array.isArray(stack) && stack.length > 0)).toBe(true)
    const routes = new Set(told.map(({ route }) => route))
    expect([...routes]).toEqual(expect.arrayContaining([null, ...endpoints.map(({ endpoint }) => endpoint.path)]))
    expect(canaries.foundIn(server.output())).toEqual([])
  })

  it('never appear in a field of the log, which has only these fields', () => {
    const known =
      'level time msg url metrics request_id method route status ms account_id caller error cause code stack retries ' +
      'entries checkpoints deleted purged key_id api_key_id'
    const fields = new Set(lines().flatMap(line => Object.keys(line)))
    expect([...fields].filter(field => !known.split(' ').includes(field))).toEqual([])
  })

  it('never appear in the metrics', () => {
    expect(metrics).toContain('http_requests_total')
    expect(canaries.foundIn(metrics)).toEqual([])
    expect(metrics).not.toContain(account.account_id)
  })

  it('never appear in an error body, except field names that the caller sent', () => {
    expect(bodies.length).toBeGreaterThan(500)
    expect(bodies.flatMap(body => canaries.foundIn(body, echoed))).toEqual([])
  })

  it('never appear in the process list of the machine', () => {
    expect(processList).toContain('serve')
    expect(canaries.foundIn(processList)).toEqual([])
  })
})
