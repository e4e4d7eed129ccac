import { Agent, createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { close, listen } from '../support/net.ts'

/** What a balancer could not pass on: its client was told 502. */
export interface Loss {
  readonly method: string
  /** The error of the connection to the node, or that there was none to connect to. */
  readonly code: string
  /** Whether that connection had carried a request before. */
  readonly isReused: boolean
}

export interface Balancer {
  readonly url: string
  readonly losses: Loss[]
  /** How many requests met a node that refused the connection, and went to another. */
  readonly refusals: () => number
  /** Resolves when a node is known to be ready, or not to be. */
  knows(node: string, isReady: boolean): Promise<void>
  close(): Promise<void>
}

interface Node {
  readonly url: URL
  readonly agent: Agent
  isReady: boolean
  /** Looks in a row that it failed. */
  failures: number
  onChange: () => void
}

/** Milliseconds between two looks at a node. */
const interval = 50

/** Failed checks in a row after which a node gets no more requests. */
const maxFailures = 3

/**
 * A reverse proxy before several nodes, no cleverer than the plainest there is: it asks each for `/ready`, and gives
 * requests in turn to those that are, over connections that it keeps alive. A request whose connection was *refused*
 * reached nobody and goes to the next node. Nothing else is ever sent twice, not even a GET: what a node does not answer
 * is a 502 to the client. So what this balancer bears, every balancer bears.
 */
export async function startBalancer(urls: readonly string[]): Promise<Balancer> {
  const nodes = urls.map(url => newNode(url))
  const losses: Loss[] = []
  let [turn, refusals] = [0, 0]
  const server = createServer(async (incoming, outgoing) => {
    const body = await buffer(incoming)
    const ready = nodes.filter(({ isReady }) => isReady)
    turn += 1
    for (let attempt = 0; attempt < ready.length; attempt += 1) {
      const node = ready[(turn + attempt) % ready.length] as Node
      const loss = await forward(node, incoming, body, outgoing)
      if (!loss) return
      if (loss.code === 'ECONNREFUSED') {
        refusals += 1
        continue
      }
      losses.push(loss)
      break
    }
    if (ready.length === 0) losses.push({ method: incoming.method ?? '', code: 'no node is ready', isReused: false })
    if (!outgoing.headersSent) outgoing.writeHead(502)
    outgoing.end()
  })
  const url = await listen(server)
  const timer = setInterval(() => nodes.forEach(look), interval)
  return {
    url,
    losses,
    refusals: () => refusals,
    knows: async (url, isReady) => {
      const node = nodes.find(({ url: { origin } }) => origin === url)
      while (node && node.isReady !== isReady) await new Promise<void>(resolve => (node.onChange = resolve))
    },
    close: async () => {
      clearInterval(timer)
      for (const { agent } of nodes) agent.destroy()
      await close(server)
    },
  }
}

function newNode(url: string): Node {
  return {
    url: new URL(url),
    agent: new Agent({ keepAlive: true }),
    isReady: false,
    failures: 0,
    onChange: () => {},
  }
}

/** Passes a request on, and its answer back; resolves to what went wrong, if something did. */
function forward(
  { url, agent }: Node,
  { method = '', url: path = '', headers }: IncomingMessage,
  body: Buffer,
  outgoing: ServerResponse,
): Promise<Loss | null> {
  return new Promise(resolve => {
    const passed = request(url, { method, path, agent, headers: withoutHops(headers) })
    const lose = (error: NodeJS.ErrnoException) =>
      resolve({ method, code: error.code ?? error.message, isReused: passed.reusedSocket })
    passed.on('error', lose)
    passed.on('response', answer => {
      outgoing.writeHead(answer.statusCode ?? 0, withoutHops(answer.headers))
      answer.on('error', lose).on('end', () => resolve(null))
      answer.pipe(outgoing)
    })
    passed.end(body)
  })
}

/** Headers but those that are about one connection. */
function withoutHops({
  connection,
  'keep-alive': keepAlive,
  'transfer-encoding': coding,
  ...headers
}: IncomingMessage['headers']) {
  return headers
}

/** Asks a node whether it is ready, on a connection of its own. */
function look(node: Node): void {
  const set = (isWell: boolean) => {
    node.failures = isWell ? 0 : node.failures + 1
    const isReady = isWell || (node.isReady && node.failures < maxFailures)
    if (node.isReady === isReady) return
    node.isReady = isReady
    node.onChange()
  }
  request(new URL('/ready', node.url), { agent: false, timeout: 1000 }, answer => {
    answer.resume()
    set(answer.statusCode === 200)
  })
    .on('error', () => set(false))
    .end()
}
