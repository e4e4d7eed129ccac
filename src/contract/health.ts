import * as z from 'zod'
import { endpoint } from './endpoint.ts'

const Health = z.object({ status: z.literal('ok') })

/** `live`: the process answers. `ready`: its database answers too. Neither needs a credential. */
export const health = {
  live: endpoint({
    summary: 'Whether the process answers',
    method: 'GET',
    path: '/live',
    access: 'anyone',
    status: 200,
    response: Health,
  }),
  ready: endpoint({
    summary: 'Whether the service can answer requests: its database does',
    method: 'GET',
    path: '/ready',
    access: 'anyone',
    status: 200,
    response: Health,
  }),
}
