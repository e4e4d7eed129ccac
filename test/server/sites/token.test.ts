import { setTimeout as delay } from 'node:timers/promises'
import { beforeEach, describe, expect, it } from 'vitest'
import { newSiteToken } from '../../../server/auth/credential.ts'
import type { NewToken } from '../../../src/contract/index.ts'
import { type Signed, type TestAccount, useService } from '../../support/service.ts'
import { dumpDatabase } from '../keys/keys.ts'
import { visible } from '../visible.ts'
import { bannerLimits, path, visit } from './sites.ts'

const service = useService({ bannerLimits })
const hour = 3600_000

let account: TestAccount
let session: Signed

beforeEach(async () => {
  account = await service.newAccount()
  session = await service.signIn(account)
})

function rotate(body: unknown = {}, id = account.siteId, headers: Record<string, string> = session) {
  return service.call('POST', `${path}/${id}/token`, { body, headers })
}

async function rotated(body: unknown = {}): Promise<NewToken> {
  const answer = await rotate(body)
  expect(answer.status, answer.text).toBe(201)
  return answer.body
}

/** The statuses of a visit with each token. */
async function statuses(...tokens: string[]): Promise<number[]> {
  return (await Promise.all(tokens.map(token => visit(service, token)))).map(({ status }) => status)
}

describe('POST /api/v1/sites/:id/token › 201', () => {
  it.each([
    [{}, 24],
    [{ overlap_hours: 0 }, 0],
    [{ overlap_hours: 1 }, 1],
    [{ overlap_hours: 720 }, 720],
  ])('for %j returns a new token and until when earlier ones work', async (body, hours) => {
    const before = Date.now()
    const { site_id, token, previous_valid_until } = await rotated(body)
    expect([site_id, token]).toEqual([account.siteId, expect.stringMatching(/^st-[\dA-Za-z]{93}$/)])
    const until = Date.parse(previous_valid_until) - hours * hour
    expect(until).toBeGreaterThanOrEqual(before)
    expect(until).toBeLessThanOrEqual(Date.now())
  })

  it('accepts both tokens until the overlap ends, then only the new one', async () => {
    const { token } = await rotated()
    expect(await statuses(account.siteToken, token)).toEqual([201, 201])
    const fresh = await service.addNode({ bannerLimits })
    const end = new Date(Date.now() + 600) // sooner than the cache forgets it
    const { sql } = service
    await sql`update site_tokens set expires_at = ${end} where site_id = ${account.siteId} and expires_at is not null`
    expect((await visit(fresh, account.siteToken)).status).toBe(201)
    await delay(Math.max(0, end.getTime() - Date.now() + 1))
    expect((await visit(fresh, account.siteToken)).status).toBe(401)
    expect((await visit(fresh, token)).status).toBe(201)
  })

  it('without an overlap, revokes the earlier token immediately, even if cached', async () => {
    expect(await statuses(account.siteToken)).toEqual([201])
    const { token } = await rotated({ overlap_hours: 0 })
    expect(await statuses(account.siteToken, token)).toEqual([401, 201])
    const [over, never] = [
      await visit(service, account.siteToken),
      await visit(service, newSiteToken(account.accountId, account.siteId)),
    ]
    expect(visible(over)).toEqual(visible(never))
  })

  it('revokes the earlier token on another node within a second', async () => {
    const other = await service.addNode({ bannerLimits })
    expect((await visit(other, account.siteToken)).status).toBe(201)
    await rotated({ overlap_hours: 0 })
    const ended = performance.now()
    while ((await visit(other, account.siteToken)).status === 201) {
      expect(performance.now() - ended).toBeLessThan(1500)
      await delay(10)
    }
  })

  it('keeps all three tokens valid after two calls, and only the last one without an overlap', async () => {
    const [one, two] = [await rotated(), await rotated()]
    expect(await statuses(account.siteToken, one.token, two.token)).toEqual([201, 201, 201])
    const three = await rotated({ overlap_hours: 0 })
    expect(await statuses(account.siteToken, one.token, two.token, three.token)).toEqual([401, 401, 401, 201])
  })

  it('never extends a token that is about to expire', async () => {
    await rotated({ overlap_hours: 0 })
    await rotated({ overlap_hours: 720 })
    expect(await statuses(account.siteToken)).toEqual([401])
  })

  it('affects one site only', async () => {
    const { body } = await service.call('POST', path, {
      headers: session,
      body: { name: 'another', allow_duplicate: true },
    })
    const other = await service.newAccount()
    await rotated({ overlap_hours: 0 })
    expect(await statuses(body.token, other.siteToken)).toEqual([201, 201])
  })

  it('returns the token once: the database stores only its hash', async () => {
    const { token } = await rotated()
    expect(await dumpDatabase(service)).not.toContain(token.slice(50))
  })
})
