import { once } from 'node:events'
import type { Server as HttpServer } from 'node:http'
import type { AddressInfo, Server } from 'node:net'

/** Listens on a free port, and returns its URL. */
export async function listen(server: Server | HttpServer, host = '127.0.0.1'): Promise<string> {
  await once(server.listen(0, host), 'listening')
  return `http://${host}:${(server.address() as AddressInfo).port}`
}

/** Ends a server and its connections. */
export async function close(server: HttpServer): Promise<void> {
  server.closeAllConnections()
  await once(server.close(), 'close')
}
