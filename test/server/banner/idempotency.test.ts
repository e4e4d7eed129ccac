import { randomUUID } from 'node:crypto'
import { beforeEach, describe, expect, it } from 'vitest'
import { useService } from '../../support/service.ts'
import { newShop, type Shop } from './shop.ts'

const service = useService()
let shop: Shop

beforeEach(async () => {
  shop = await newShop(service)
})

const body = { subject_id: 'maria', accepted: true, preferences: { ads: true }, idempotency_key: randomUUID() }

describe('POST /api/v1/public/consent › idempotency_key', () => {
  it('replays the first response, with a token that can change the record', async () => {
    const first = await shop.visit(body)
    const again = await shop.visit(body)
    expect([first.status, again.status, again.body.id]).toEqual([201, 201, first.body.id])
    const { consent_token } = again.body
    const changed = await shop.visit({ ...body, accepted: false, consent_token, idempotency_key: randomUUID() })
    expect([changed.status, changed.body.id]).toEqual([201, first.body.id])
    expect(await shop.count()).toBe(1)
  })

  it('creates one record for concurrent requests', async () => {
    const answers = await Promise.all([shop.visit(body), shop.visit(body), shop.visit(body)])
    expect(answers.map(({ status }) => status)).toEqual([201, 201, 201])
    expect(await shop.count()).toBe(1)
  })

  it('can be reused after a request whose token was rejected', async () => {
    const consent_token = `ct-${'A'.repeat(60)}`
    expect((await shop.visit({ ...body, consent_token })).status).toBe(400)
    expect((await shop.visit(body)).status).toBe(201)
  })

  it('returns 409 for a different body', async () => {
    await shop.visit(body)
    expect((await shop.visit({ ...body, accepted: false })).status).toBe(409)
    expect(await shop.count()).toBe(1)
  })

  it('is separate from an Idempotency-Key of the API with the same text', async () => {
    const { idempotency_key, ...draft } = body
    const own = await shop.post({ ...draft, site_id: shop.siteId }, { 'idempotency-key': idempotency_key })
    expect([own.status, (await shop.visit(body)).status]).toEqual([201, 201])
    expect(await shop.count()).toBe(2)
  })

  it.each(['', '1', 'x'.repeat(15), 'é'.repeat(16), 'x'.repeat(256)])(
    'is rejected when it is short or malformed: %.20j',
    async key => {
      const answer = await shop.visit({ ...body, idempotency_key: key })
      expect([answer.status, answer.body.message]).toEqual([
        400,
        expect.stringContaining('idempotency_key: must be 16 to 255'),
      ])
      expect(await shop.count()).toBe(0)
    },
  )
})
