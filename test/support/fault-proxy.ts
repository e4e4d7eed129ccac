import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { listen } from './net.ts'

/** A TCP proxy in front of a server on loopback, which can delay, reset and lose what goes through it. */
export interface FaultProxy {
  readonly port: number
  /** Delays every piece of data. */
  delay(milliseconds: number): void
  /** Ends every connection that is open, with a reset. */
  reset(): void
  /** Closes the server's half of every connection, and still accepts what the client sends. */
  halfClose(): void
  /**
   * Lets everything vanish without a word, as a failed router does. Connections that were open or attempted meanwhile
   * stay silent for ever; only new ones work when it is light again.
   */
  blackhole(isBlackholed: boolean): void
  close(): Promise<void>
}

interface Link {
  readonly client: Socket
  readonly server: Socket
  isDark: boolean
}

export async function startFaultProxy(target: number): Promise<FaultProxy> {
  const links = new Set<Link>()
  /** Connections made while it was on: nothing of them has reached the server. */
  const silent = new Set<Socket>()
  let [wait, isDark] = [0, false]
  const carry = (link: Link, from: Socket, to: Socket) => {
    const queue: (() => void)[] = []
    // In order, even when the wait becomes shorter meanwhile.
    const later = (work: () => void) => {
      if (wait === 0 && queue.length === 0) return work()
      queue.push(work)
      setTimeout(() => queue.shift()?.(), wait)
    }
    from.on('data', data => later(() => void (!link.isDark && to.writable && to.write(data))))
    from.on('end', () => later(() => void (!link.isDark && to.end())))
    from.on('error', () => {})
    from.on('close', () => {
      if (link.isDark) return
      links.delete(link)
      later(() => void to.destroy())
    })
  }
  const proxy = createServer({ allowHalfOpen: true, noDelay: true }, client => {
    if (isDark) return void silent.add(client.on('error', () => {}))
    const server = connect({ port: target, host: '127.0.0.1', allowHalfOpen: true, noDelay: true })
    const link = { client, server, isDark: false }
    links.add(link)
    carry(link, client, server)
    carry(link, server, client)
  })
  const { port } = new URL(await listen(proxy))
  const each = (work: (link: Link) => void) => () => links.forEach(work)
  return {
    port: Number(port),
    delay: milliseconds => {
      wait = milliseconds
    },
    reset: each(({ client, server }) => {
      client.resetAndDestroy()
      server.destroy()
    }),
    halfClose: each(({ client }) => client.end()),
    blackhole: dark => {
      isDark = dark
      for (const link of links) link.isDark = true
    },
    close: async () => {
      for (const { client, server } of links) {
        client.destroy()
        server.destroy()
      }
      for (const client of silent) client.destroy()
      proxy.close()
      await once(proxy, 'close')
    },
  }
}
