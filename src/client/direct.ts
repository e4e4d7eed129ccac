import type { Answer, Carrier, Exchange } from './exchange.ts'

/** Node's own HTTP, which costs a process a fraction of what a library does. `ca`: every authority to trust, in PEM. */
export async function openDirect(isTls: boolean, ca: readonly string[] | null): Promise<Carrier> {
  const trust = ca ? { ca: [...ca] } : {}
  const { request, agent } = isTls ? await secure(trust) : await plain()
  const exchange = ({ method, url, headers, body, signal, onSent }: Exchange) =>
    new Promise<Answer>((resolve, reject) => {
      if (url.port === '0') return reject(new Error('no server is at port 0')) // Node would take the usual port
      if (signal.aborted) return reject(signal.reason)
      const outgoing = request(url, { method, headers: { ...headers }, agent })
      // Given the signal, Node would watch the end of every request for it, at a third of what the request costs.
      signal.addEventListener('abort', () => outgoing.destroy(signal.reason), { once: true })
      outgoing.once('socket', socket => {
        if (outgoing.reusedSocket) onSent()
        else socket.once(isTls ? 'secureConnect' : 'connect', onSent)
      })
      let isAnswered = false
      outgoing.once('response', incoming => {
        isAnswered = true
        resolve({ status: incoming.statusCode ?? 0, headers: incoming.headers, body: incoming })
      })
      outgoing.on('error', reject)
      outgoing.once('close', () => {
        if (!isAnswered) reject(new Error('the connection was closed without an answer'))
      })
      outgoing.end(body)
    })
  return { exchange, close: () => agent.destroy() }
}

async function plain() {
  const { Agent, request } = await import('node:http')
  return { request, agent: new Agent({ keepAlive: true }) }
}

async function secure(trust: { ca?: string[] }) {
  const { Agent, request } = await import('node:https')
  return { request, agent: new Agent({ keepAlive: true, ...trust }) }
}
