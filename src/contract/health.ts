import * as z from 'zod'
import { endpoint, type ResourceDocs } from './endpoint.ts'

export const Healthy = z.object({ status: z.literal('ok') })

export const ReadOnly = z.object({
  status: z.literal('read-only'),
  reason: z.string().meta({ examples: ['the database is read-only'] }),
})

const probe = { method: 'GET', access: 'anyone', status: 200, response: Healthy } as const

/** `ready`: the database responds too; `writable`: it also accepts writes. */
export const health = {
  live: endpoint({
    ...probe,
    summary: 'Check that the process responds',
    path: '/live',
  }),
  ready: endpoint({
    ...probe,
    summary: 'Check that the service can handle requests: its database responds',
    path: '/ready',
    response: z.union([Healthy, ReadOnly]),
  }),
  writable: endpoint({
    ...probe,
    summary: 'Check that the service can handle requests, writes too',
    path: '/writable',
  }),
}

export const healthDocs: ResourceDocs<typeof health> = {
  description: 'For load balancers and supervisors.',
  endpoints: {
    ready: {
      description:
        'The status `read-only` says that writes get 503 `read_only`, and the reason says why: the database accepts no writes, or the clock of the service is wrong.',
    },
    writable: { description: 'Responds 503 where `/ready` responds `read-only`.' },
  },
}
