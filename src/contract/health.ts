import * as z from 'zod'
import { endpoint } from './endpoint.ts'

const Health = z.object({ status: z.literal('ok') })

/** `live`: the process answers. `ready`: its database answers too. Neither needs a credential. */
export const health = {
  live: endpoint({ method: 'GET', path: '/live', status: 200, response: Health }),
  ready: endpoint({ method: 'GET', path: '/ready', status: 200, response: Health }),
}
