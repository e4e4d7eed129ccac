import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import { close, listen } from '../support/net.ts'

/** An HTTP proxy before an instance. It can hold requests, so that a client cannot end. */
export interface HoldingProxy {
  readonly url: string
  /**
   * Lets `after` requests of the method through, and holds all later ones until `release`. Resolves when it holds one. With
   * `isAnswerLost` the instance gets those that are held, and only the answers are held.
   */
  hold(after: number, isAnswerLost: boolean): Promise<void>
  /** Drops what is held, and lets everything through. */
  release(): void
  close(): Promise<void>
}

/** `method` is that of the requests that are held. */
export async function startHoldingProxy(instance: string, method = 'POST'): Promise<HoldingProxy> {
  let [left, isAnswerLost, onHeld] = [Number.POSITIVE_INFINITY, false, () => {}]
  const held = new Set<IncomingMessage>()
  const forward = (incoming: IncomingMessage, answer: (response: IncomingMessage) => void) => {
    const { url, headers } = incoming
    const options = { method: incoming.method, headers }
    const outgoing = request(new URL(url ?? '/', instance), options, answer)
    outgoing.on('error', () => incoming.socket.destroy())
    incoming.pipe(outgoing)
  }
  const answerWith = (response: ServerResponse) => (answer: IncomingMessage) => {
    response.writeHead(answer.statusCode ?? 502, answer.headers)
    answer.on('error', () => response.destroy()).pipe(response)
  }
  const server = createServer((incoming, response) => {
    if (incoming.method === method) left -= 1
    if (incoming.method !== method || left >= 0) return forward(incoming, answerWith(response))
    held.add(incoming)
    if (!isAnswerLost) return onHeld()
    forward(incoming, answer => answer.on('end', () => onHeld()).resume())
  })
  return {
    url: await listen(server),
    hold: (after, isLost) => {
      left = after
      isAnswerLost = isLost
      return new Promise(resolve => {
        onHeld = resolve
      })
    },
    release: () => {
      left = Number.POSITIVE_INFINITY
      for (const incoming of held) incoming.socket.destroy()
      held.clear()
    },
    close: () => close(server),
  }
}
