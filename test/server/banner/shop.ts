import { expect } from 'vitest'
import { banner } from '../../../src/contract/index.ts'
import type { CallOptions, ServiceResponse, TestService } from '../../support/service.ts'
import { newOwner } from '../consents/records.ts'

export const { path } = banner.create

/** The origin whose pages may record consents for the site of a shop. */
export const origin = 'https://shop.example.com'

export type Shop = Awaited<ReturnType<typeof newShop>>

/** A new account whose site has a banner on the pages of `origin`, and a visitor of them. */
export async function newShop(service: TestService) {
  const owner = await newOwner(service)
  await service.sql`
    update sites set allowed_origins = ${service.sql.json([origin])} where account_id = ${owner.accountId} and id = ${owner.siteId}`
  const send = (options: CallOptions) => service.call('POST', path, options)
  const asPage = { 'x-site-token': owner.siteToken, origin }
  return {
    ...owner,
    send,
    /** Posts as a page does, with `headers` in place of its own. */
    visit: (body: unknown = {}, headers: Record<string, string> = {}) =>
      send({ body, headers: { ...asPage, ...headers } }),
    /** Counts the account's records. */
    count: async () => (await owner.list({ limit: '100', include_deleted: 'true' })).body.data.length as number,
  }
}

/** The headers by which an answer tells browsers who may read it, sorted (Fetch standard, CORS protocol). */
export function corsOf({ headers }: ServiceResponse): string[] {
  return Object.entries(headers)
    .filter(([name]) => name === 'vary' || name.startsWith('access-control-'))
    .map(([name, value]) => `${name}: ${value}`)
    .sort()
}

/** CORS headers of responses that a page of the shop may read, and of those that it may not. */
export const cors = {
  readable: [
    'access-control-allow-origin: https://shop.example.com',
    'access-control-expose-headers: X-Request-Id, Retry-After',
    'vary: Origin',
  ],
  hidden: ['vary: Origin'],
}

/** Expects a refusal and that nothing was recorded. */
export async function expectRefused(
  shop: Shop,
  answer: ServiceResponse,
  [status, error]: readonly [status: number, error: string],
): Promise<void> {
  expect([answer.status, answer.body.error], answer.text).toEqual([status, error])
  expect(await shop.count()).toBe(0)
}
