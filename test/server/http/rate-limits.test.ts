import rateLimit from '@fastify/rate-limit'
import { fastify } from 'fastify'
import { expect, it } from 'vitest'
import { limitRequests } from '../../../server/http/rate-limits.ts'
import { networkKey } from '../../../server/net/request.ts'

it('limitRequests › keeps the count of an address after requests from 6,000 others', async () => {
  const app = fastify()
  await app.register(rateLimit, { global: false })
  const limit = limitRequests(app, { max: 1, seconds: 60 }, networkKey)
  app.get('/', { onRequest: limit }, async () => 'welcome')
  const ask = async (remoteAddress: string) =>
    (await app.inject({ method: 'GET', url: '/', remoteAddress })).body === 'welcome'
  expect([await ask('192.0.2.1'), await ask('192.0.2.1')]).toEqual([true, false])
  for (let index = 0; index < 6000; index += 1) await ask(`10.0.${index >> 8}.${index & 255}`)
  expect(await ask('192.0.2.1')).toBe(false)
  await app.close()
})
