import { createServer, request } from 'node:http'
import { close, listen } from './net.ts'

/** What becomes of requests: `lost` ones are answered, and the answer never arrives; a number is answered in place of the service. */
export type Fate = 'passed' | 'down' | 'lost' | number

/** An HTTP proxy between browsers and the service, which sees what a browser sends as its page goes, unlike Playwright. */
export interface VisitorProxy {
  readonly url: string
  /** Of all requests from now on. */
  fate: Fate
  /** Adds `Sec-GPC: 1` to each request. */
  gpc: boolean
  /** How many posts came since the start. */
  readonly posts: () => number
  close(): Promise<void>
}

export async function startVisitorProxy(service: string): Promise<VisitorProxy> {
  let posts = 0
  const server = createServer((incoming, response) => {
    const { fate, gpc } = proxy
    const { url = '/', method, headers } = incoming
    if (method === 'POST') posts += 1
    if (fate === 'down') return void incoming.socket.destroy()
    if (typeof fate === 'number') return void response.writeHead(fate, { 'access-control-allow-origin': '*' }).end()
    const options = { method, headers: { ...headers, ...(gpc && { 'sec-gpc': '1' }) } }
    const outgoing = request(new URL(url, service), options, answer => {
      if (fate === 'lost' && method === 'POST') return void answer.resume().on('end', () => incoming.socket.destroy())
      response.writeHead(answer.statusCode ?? 502, answer.headers)
      return void answer.pipe(response)
    })
    outgoing.on('error', () => incoming.socket.destroy())
    incoming.pipe(outgoing)
  })
  const proxy: VisitorProxy = {
    url: await listen(server),
    fate: 'passed',
    gpc: false,
    posts: () => posts,
    close: () => close(server),
  }
  return proxy
}
