import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { afterAll, afterEach, beforeAll } from 'vitest'
import { listen } from './net.ts'

/** An HTTP proxy that opens a tunnel to one port of this machine, whatever host it is asked for. */
export interface ConnectProxy {
  url: string
  /** The head of every CONNECT of the present test. */
  readonly requests: string[]
  /** Refuses the next ones with this status; 200 opens tunnels again. */
  status: number
}

export function useConnectProxy(port: () => number): ConnectProxy {
  const sockets = new Set<Socket>()
  const tunnel: ConnectProxy = { url: '', requests: [], status: 200 }
  const hold = (socket: Socket) => sockets.add(socket.on('error', () => {}).once('close', () => sockets.delete(socket)))
  const server = createServer(client => {
    hold(client)
    client.once('data', data => {
      tunnel.requests.push(String(data))
      if (tunnel.status !== 200) return void client.end(`HTTP/1.1 ${tunnel.status} No\r\n\r\n`)
      const target = connect(port(), '127.0.0.1')
      hold(target)
      target.once('close', hadError => (hadError ? client.resetAndDestroy() : client.destroy()))
      client.once('close', () => target.destroy())
      client.write('HTTP/1.1 200 OK\r\n\r\n')
      client.pipe(target).pipe(client)
    })
  })
  beforeAll(async () => {
    tunnel.url = await listen(server)
  })
  afterEach(() => {
    for (const socket of sockets) socket.destroy()
    tunnel.requests.length = 0
    tunnel.status = 200
  })
  afterAll(async () => {
    server.close()
    await once(server, 'close')
  })
  return tunnel
}
