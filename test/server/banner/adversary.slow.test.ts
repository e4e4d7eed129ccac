import { randomBytes } from 'node:crypto'
import { pino } from 'pino'
import { beforeAll, describe, expect, it } from 'vitest'
import { encodeConsentToken } from '../../../server/banner/consent-token.ts'
import { sharedSecret } from '../../../server/db/secrets.ts'
import type { BannerConsent } from '../../../src/contract/index.ts'
import { type ServiceResponse, type TestNode, useService } from '../../support/service.ts'
import { inTurns } from '../consents/records.ts'
import { newShop, path, type Shop } from './shop.ts'

/** Forged tokens, in turn of each kind; `CONSENTCTL_TEST_TOKENS=10000` by hand. */
const forgeries = Number(process.env['CONSENTCTL_TEST_TOKENS'] ?? 200)
const visitors = Math.max(6, Math.floor(forgeries / 100))
const rounds = Math.max(4, Math.floor(forgeries / 100))

const unlimited = { max: 1e6, seconds: 60 }
const bannerLimits = { address: unlimited, site: unlimited }
const service = useService({ bannerLimits })
const dayMs = 24 * 60 * 60 * 1000

/** Two nodes that have read their secret from the database, as nodes do when they start. */
let nodes: TestNode[]
let secret: Buffer
let [shop, other] = [] as unknown as [Shop, Shop]
const lines: string[] = []

/** Every request of the visitors with a token, and the token of each answer. */
const sent: object[] = []
const last: BannerConsent[] = []

beforeAll(async () => {
  ;[shop, other] = [await newShop(service), await newShop(service)]
  const { sql } = service
  const logger = pino({ level: 'trace' }, { write: line => lines.push(line) })
  const secrets = await Promise.all([1, 2].map(() => sharedSecret(sql, 'consent token')))
  nodes = await Promise.all(
    secrets.map(consentTokenSecret => service.addNode({ bannerLimits, consentTokenSecret, logger })),
  )
  secret = secrets[0] as Buffer
  expect(secrets[1]).toEqual(secret)
  await inTurns(
    Array.from({ length: visitors }, (_, index) => index),
    10,
    makeVisitor,
  )
})

/** Posts to one node after the other, again if it has too much to do. */
let turn = 0
async function post(body: object, of: Shop = shop): Promise<ServiceResponse> {
  turn += 1
  const node = nodes[turn % nodes.length] as TestNode
  const answer = await node.call('POST', path, { body, headers: { 'x-site-token': of.siteToken } })
  return answer.status === 503 ? await post(body, of) : answer
}

/** A visitor who answers, and then changes the answer three times. */
async function makeVisitor(index: number): Promise<void> {
  let { body: record } = await post({ subject_id: `visitor ${index}`, accepted: true })
  for (const accepted of [false, true, false]) {
    const body = { consent_token: record.consent_token, accepted, preferences: { ads: accepted, index } }
    sent.push(body)
    const answer = await post(body)
    expect(answer.status, answer.text).toBe(201)
    record = answer.body
  }
  last.push(record)
}

/** Number and hash of the rows of every table that an answer could be written to. */
async function snapshot(): Promise<unknown> {
  const { sql } = service
  const tables = ['consents', 'consent_history', 'log_entries', 'idempotency_keys', 'site_tokens', 'sites']
  return await Promise.all(
    tables.map(async table => {
      const [row] = await sql`
        select count(*)::int, md5(coalesce(string_agg(row_text, ' ' order by row_text), '')) as hash
        from (select t::text as row_text from ${sql(table)} t) as texts`
      return [table, row?.['count'], row?.['hash']]
    }),
  )
}

/** Expects that requests which get none but `statuses` change nothing. */
async function expectHarmless(bodies: readonly object[], statuses: readonly number[]): Promise<ServiceResponse[]> {
  const before = await snapshot()
  const answers = await inTurns(bodies, 20, body => post(body))
  expect(answers.filter(({ status }) => !statuses.includes(status)).map(({ text }) => text)).toEqual([])
  expect(await snapshot()).toEqual(before)
  return answers
}

const pick = <Item>(items: readonly Item[]) => items[Math.floor(Math.random() * items.length)] as Item
const toText = (bytes: Buffer) => `ct-${bytes.toString('base64url')}`
const realBytes = () => Buffer.from(pick(last).consent_token.slice(3), 'base64url')

function withByte(bytes: Buffer, index: number, change: (value: number) => number): Buffer {
  bytes[index] = change(bytes[index] ?? 0) & 255
  return bytes
}

/** Each returns a token that looks like one. */
const forgers: readonly [name: string, forge: () => string][] = [
  ['random bytes', () => toText(withByte(randomBytes(45), 0, () => 1))],
  ['a real head with random MAC', () => toText(Buffer.concat([realBytes().subarray(0, 29), randomBytes(16)]))],
  [
    'one bit changed',
    () => toText(withByte(realBytes(), pick([...Array(45).keys()]), byte => byte ^ (1 << pick([0, 3, 7])))),
  ],
  ['the next version', () => toText(withByte(realBytes(), 20, byte => byte + 1))],
  ['a later expiry', () => toText(withByte(realBytes(), 23, byte => byte + 1))],
  ["another record's MAC", () => toText(Buffer.concat([realBytes().subarray(0, 29), otherMac()]))],
  ['another secret', () => encodeConsentToken({ ...scope(), secret: randomBytes(32) }, anyVersion(), new Date())],
  ['another site', () => encodeConsentToken({ ...scope(), siteId: other.siteId }, anyVersion(), new Date())],
  ['another account', () => encodeConsentToken({ ...scope(), accountId: other.accountId }, anyVersion(), new Date())],
  ['the past', () => encodeConsentToken(scope(), anyVersion(), new Date(Date.now() - 400 * dayMs))],
  ['no record', () => encodeConsentToken(scope(), { id: shop.siteId, version: 1 }, new Date())],
]
const scope = () => ({ secret, accountId: shop.accountId, siteId: shop.siteId })
const anyVersion = () => ({ id: pick(last).id, version: pick([1, 2, 3, 4, 5]) })

/** That of the token of the other shop's record. */
let otherToken = ''
const otherMac = () => Buffer.from(otherToken.slice(3), 'base64url').subarray(29)

describe('adversary of the public flow', { timeout: 60_000 + 60 * forgeries }, () => {
  beforeAll(async () => {
    otherToken = (await post({ accepted: true }, other)).body.consent_token
  })

  it(`changes nothing with ${forgeries} forged tokens, which all get the same bytes`, async () => {
    const bodies = Array.from({ length: forgeries }, (_, index) => {
      const [, forge] = forgers[index % forgers.length] as (typeof forgers)[number]
      return {
        consent_token: forge(),
        accepted: true,
        ...pick([{}, { policy_version: 2 }, { subject_id: 'visitor 1' }]),
      }
    })
    const answers = await expectHarmless([...bodies, { consent_token: otherToken, accepted: false }], [400])
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1)
  })

  it('changes nothing with what the visitors sent before, in any order, and any number of times', async () => {
    const replays = Array.from({ length: forgeries }, () => pick(sent))
    const answers = await expectHarmless(replays, [201, 409])
    const current = new Set(last.map(({ id }) => id))
    for (const { status, body } of answers) if (status === 201) expect(current).toContain(body.id)
  })

  it('changes nothing with other answers by tokens that are no longer of the record', async () => {
    const bodies = sent.map(body => ({ ...body, accepted: true, preferences: { forged: true } }))
    await expectHarmless(bodies, [409])
  })

  it('finds no token in the log and in no error', async () => {
    const record = pick(last)
    const texts = [JSON.stringify({ consent_token: record.consent_token, accepted: 1 }), `{"${record.consent_token}`]
    for (const body of texts) {
      const answer = await nodes[0]?.call('POST', path, { body, headers: { 'x-site-token': shop.siteToken } })
      expect([answer?.status, answer?.text.includes('ct-')]).toEqual([400, false])
    }
    expect(lines.length).toBeGreaterThan(forgeries)
    expect(lines.filter(line => line.includes('ct-'))).toEqual([])
  })
})

describe('concurrent changes by one token', { timeout: 60_000 + 60 * forgeries }, () => {
  it('on two nodes: one of the answers is recorded, and the same answer gets it too', async () => {
    for (let round = 0; round < rounds; round += 1) {
      const { body: first } = await post({ accepted: true })
      const tabs = Array.from({ length: 8 }, (_, index) => ({ ads: index % 2 === 0 }))
      const answers = await Promise.all(
        tabs.map(preferences => post({ consent_token: first.consent_token, accepted: false, preferences })),
      )
      const { body: record } = await shop.get(first.id)
      const expected = tabs.map(({ ads }) => (ads === record.preferences.ads ? 201 : 409))
      expect(answers.map(({ status }) => status)).toEqual(expected)
      expect((await shop.history(first.id)).body.data).toHaveLength(2)
    }
  })

  it('beside the operator: the record has exactly the entries that were answered with success', async () => {
    for (let round = 0; round < rounds; round += 1) {
      const { body: first } = await post({ accepted: true })
      const [visit, update, deletion] = await Promise.all([
        post({ consent_token: first.consent_token, accepted: false }),
        shop.update(first.id, { preferences: { by: 'operator' } }),
        round % 2 ? shop.remove(first.id) : null,
      ])
      const { body: history } = await shop.history(first.id)
      const actors = history.data.map(({ changed_by, action }: Record<string, string>) => `${changed_by} ${action}`)
      const has = (entry: string) => actors.slice(1).includes(entry)
      expect([201, 400, 409]).toContain(visit.status)
      expect([has('site_token updated'), has('api_key updated')]).toEqual([visit.status === 201, update.status === 200])
      expect(has('api_key deleted')).toBe(deletion?.status === 200)
    }
  })
})
