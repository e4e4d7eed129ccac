import { pino } from 'pino'
import { beforeAll, describe, expect, it } from 'vitest'
import { sharedSecret } from '../../../server/db/secrets.ts'
import { type ServiceResponse, type TestNode, useService } from '../../support/service.ts'
import { newShop, path, type Shop } from './shop.ts'

/** Rounds of each race; CONSENTCTL_TEST_TOKENS=100 by hand. */
const rounds = Number(process.env['CONSENTCTL_TEST_TOKENS'] ?? 4)

const unlimited = { max: 1e6, seconds: 60 }
const bannerLimits = { address: unlimited, site: unlimited }
const service = useService({ bannerLimits })

/** Two nodes that have read their secret from the database, as nodes do when they start. */
let nodes: TestNode[]
let shop: Shop
const lines: string[] = []

beforeAll(async () => {
  shop = await newShop(service)
  const logger = pino({ level: 'trace' }, { write: line => lines.push(line) })
  const secrets = await Promise.all([1, 2].map(() => sharedSecret(service.sql, 'consent token')))
  nodes = await Promise.all(
    secrets.map(consentTokenSecret => service.addNode({ bannerLimits, consentTokenSecret, logger })),
  )
})

/** Posts to one node after the other, again if it has too much to do. */
let turn = 0
async function post(body: object | string): Promise<ServiceResponse> {
  turn += 1
  const node = nodes[turn % nodes.length] as TestNode
  const answer = await node.call('POST', path, { body, headers: { 'x-site-token': shop.siteToken } })
  return answer.status === 503 ? await post(body) : answer
}

describe('consent_token › concurrent changes by one token', { timeout: 60_000 + 6000 * rounds }, () => {
  it('on two nodes: records one of the answers, and returns success for the same answer too', async () => {
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

  it('alongside operator changes: the record has exactly the entries of successful responses', async () => {
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

it('consent_token › never appears in the log or an error', async () => {
  const { consent_token } = (await post({ accepted: true })).body
  for (const body of [{ consent_token, accepted: false }, { consent_token, accepted: 1 }, `{"${consent_token}`]) {
    const answer = await post(body)
    expect(answer.status === 201 || !answer.text.includes('ct-')).toBe(true)
  }
  expect(lines.length).toBeGreaterThan(3)
  expect(lines.filter(line => line.includes('ct-'))).toEqual([])
})
