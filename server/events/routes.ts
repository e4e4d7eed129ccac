import type { FastifyInstance } from 'fastify'
import type { Sql } from 'postgres'
import { events } from '../../src/contract/index.ts'
import { Admission } from '../admission.ts'
import { Later, route } from '../http/route.ts'
import { getEvents } from './feed.ts'
import { Followers } from './followers.ts'

/** One event may wake all followers: other requests of the account must not wait for them. */
const admission = new Admission({ running: 5, perTenant: 2, waiting: 100, maxWaitMs: 4000 })

export function eventRoutes(app: FastifyInstance, { sql }: { readonly sql: Sql }): void {
  const followers = new Followers(sql)
  route(app, events.list, async ({ query }, { caller, request, setHeader }) => {
    const { wait = 0, limit, after } = query
    const page = await getEvents(sql, caller, query)
    const isBehind = after !== undefined && page.next_after !== after
    if (wait === 0 || page.data.length > 0 || isBehind) return page
    const until = performance.now() + wait * 1000
    const isOver = () => performance.now() > until || request.raw.destroyed || !app.server.listening
    return new Later(async () => {
      await followers.wait(caller.accountId, page.next_after, isOver)
      if (!app.server.listening) setHeader('connection', 'close')
      const next = { after: page.next_after ?? undefined, limit }
      return await admission.run(caller.accountId, () => getEvents(sql, caller, next))
    })
  })
}
