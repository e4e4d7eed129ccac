import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { getResponse, type RequestHandler } from 'msw'
import { afterAll, afterEach, beforeAll, expect } from 'vitest'
import { close, listen } from './net.ts'

/** A request as an instance received it. */
export interface Recorded {
  readonly method: string
  readonly url: string
  readonly headers: IncomingMessage['headers']
  readonly text: string
}

/** An instance of the service that is not ours: msw's handlers behind a real HTTP server. */
export interface Instance {
  url: string
  /** Every request of the present test, in order. */
  readonly requests: Recorded[]
  /** What it answers in the present test; a request that no handler takes fails that test. */
  use(...handlers: RequestHandler[]): void
}

export function useInstance(): Instance {
  let handlers: RequestHandler[] = []
  let unmatched: string[] = []
  const instance: Instance = {
    url: '',
    requests: [],
    use: (...more) => {
      handlers = [...more, ...handlers]
    },
  }
  const server = createServer(async (incoming, outgoing) => {
    const body = await buffer(incoming)
    const { method = '', url = '', headers } = incoming
    instance.requests.push({ method, url, headers, text: body.toString('utf8') })
    const response = await getResponse(handlers, toRequest(instance.url, incoming, body))
    if (!response) unmatched.push(`${method} ${url}`)
    await answer(outgoing, response ?? new Response('no handler', { status: 501 }))
  })
  beforeAll(async () => {
    instance.url = await listen(server)
  })
  afterEach(() => {
    const missed = unmatched
    instance.requests.length = 0
    handlers = []
    unmatched = []
    expect(missed).toEqual([])
  })
  afterAll(() => close(server))
  return instance
}

function toRequest(base: string, { method = 'GET', url = '/', headers }: IncomingMessage, body: Buffer): Request {
  const pairs = Object.entries(headers).map(([name, value]): [string, string] => [name, String(value)])
  const content = method === 'GET' || method === 'HEAD' ? {} : { body: new Uint8Array(body) }
  return new Request(base + url, { method, headers: pairs, ...content })
}

async function answer(outgoing: ServerResponse, response: Response): Promise<void> {
  outgoing.writeHead(response.status, [...response.headers].flat()) // set-cookie may be there several times
  outgoing.end(Buffer.from(await response.arrayBuffer()))
}
