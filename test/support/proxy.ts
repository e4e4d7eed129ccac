import { createServer, type IncomingMessage } from 'node:http'
import { request } from 'undici'
import { afterAll, beforeAll } from 'vitest'

/** A proxy of a service, which answers 503 to the requests that `fails` names. */
export function useProxy(
  service: { readonly url: string },
  fails: (request: IncomingMessage, body: string) => boolean,
) {
  const proxy = createServer(async (incoming, outgoing) => {
    const chunks: Buffer[] = []
    for await (const chunk of incoming) chunks.push(chunk)
    const body = Buffer.concat(chunks)
    if (fails(incoming, body.toString())) {
      outgoing.writeHead(503, { 'content-type': 'application/json' }).end('{"error":"unavailable","message":"down"}')
      return
    }
    const { host: _host, connection: _connection, ...headers } = incoming.headers
    const method = incoming.method as 'GET'
    const answer = await request(service.url + incoming.url, { method, headers, body: body.length > 0 ? body : null })
    const { connection: _, 'transfer-encoding': __, 'keep-alive': ___, ...own } = answer.headers
    outgoing.writeHead(answer.statusCode, own as Record<string, string>)
    outgoing.end(Buffer.from(await answer.body.arrayBuffer()))
  })
  beforeAll(() => new Promise<void>(resolve => proxy.listen(0, '127.0.0.1', resolve)))
  afterAll(() => {
    proxy.closeAllConnections()
    proxy.close()
  })
  return {
    get url(): string {
      return `http://127.0.0.1:${(proxy.address() as { port: number }).port}`
    },
  }
}
