import { type Client, clientOn } from './client.ts'
import type { Connection } from './request.ts'

/** Connects at the first call: a command that sends nothing needs no key. */
export function createClient(connect: () => Promise<Connection>): Client {
  return clientOn(async () => {
    const [connection, { openTransport }] = await Promise.all([connect(), import('./transport.ts')])
    return openTransport(connection)
  })
}
