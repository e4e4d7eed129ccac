import * as z from 'zod'
import { endpoint, type ResourceDocs } from './endpoint.ts'

const Health = z.object({ status: z.literal('ok') })

/** `live`: the process responds. `ready`: its database responds too. */
export const health = {
  live: endpoint({
    summary: 'Check that the process responds',
    method: 'GET',
    path: '/live',
    access: 'anyone',
    status: 200,
    response: Health,
  }),
  ready: endpoint({
    summary: 'Check that the service can handle requests: its database responds',
    method: 'GET',
    path: '/ready',
    access: 'anyone',
    status: 200,
    response: Health,
  }),
}

export const healthDocs: ResourceDocs<typeof health> = { description: 'For load balancers and supervisors.' }
