// The part of Fastify that the service uses, because making its real application takes longer than a whole schedule: hooks, a
// table of routes, bodies. In the order of Fastify 5.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'

type Hook = (request: Request, reply: Reply, ...rest: unknown[]) => unknown

interface Route {
  readonly method: string | string[]
  readonly url: string
  readonly config?: object
  readonly bodyLimit?: number
  readonly handler: (request: Request, reply: Reply) => Promise<unknown>
}

export type Request = Record<string, unknown> & {
  raw: IncomingMessage
  params: Record<string, string>
  body: unknown
  /** When its body was there; undefined once it is answered. */
  arrivedAt: number | undefined
  routeOptions: { config: object; url: string | undefined }
}

interface Options {
  readonly genReqId: () => string
  readonly clientErrorHandler: (error: Error, socket: never) => void
}

const keepAliveTimeoutMs = 72_000

/** Sees every answer before it leaves, whether it arrives or not. */
export const observer = {
  onAnswer: (_request: Request, _status: number, _text: string): void => {},
  /** With the last line of a stream that the client takes as complete. */
  onStreamEnd: (_last: string): void => {},
}

class Reply {
  readonly raw: ServerResponse
  readonly request: Request
  isHijacked = false
  statusCode = 200
  readonly #headers: Record<string, string | number> = {}

  constructor(raw: ServerResponse, request: Request) {
    this.raw = raw
    this.request = request
  }

  code(status: number): this {
    this.statusCode = status
    return this
  }

  header(name: string, value: string | number): this {
    this.#headers[name] = value
    return this
  }

  headers(all: Record<string, string>): this {
    Object.assign(this.#headers, all)
    return this
  }

  type(value: string): this {
    return this.header('content-type', value)
  }

  getHeaders(): object {
    return this.#headers
  }

  /** The lines that are written from now on are answers, each of its own. */
  hijack(): void {
    const { raw, request } = this
    this.isHijacked = true
    let last = ''
    const write = raw.write.bind(raw) as (text: string) => boolean
    raw.write = (text: string) => {
      observer.onAnswer(request, this.statusCode, text)
      request.arrivedAt = undefined // the lines that follow have times of their own
      last = text
      return write(text)
    }
    const end = raw.end.bind(raw)
    raw.end = (() => {
      observer.onStreamEnd(last)
      return end()
    }) as typeof raw.end
  }

  /** Called by an error handler or a handler: the text is written once the hooks have run. */
  payload: string | undefined
  send(value: unknown): this {
    if (typeof value === 'string') this.payload = value
    else {
      this.type('application/json; charset=utf-8')
      this.payload = JSON.stringify(value)
    }
    return this
  }
}

export function fastify({ genReqId, clientErrorHandler }: Options) {
  const hooks: Record<string, Hook[]> = { onRequest: [], preHandler: [], onSend: [], onRoute: [] }
  const decorations: Record<string, unknown> = {}
  const routes: (Route & { readonly pattern: RegExp; readonly names: string[] })[] = []
  let parse = async (_request: unknown, body: Buffer): Promise<unknown> => JSON.parse(body.toString())
  let onError: (error: unknown, request: Request, reply: Reply) => Reply
  let onMissing: () => void = () => {}

  async function runHooks(name: string, request: Request, reply: Reply): Promise<void> {
    for (const hook of hooks[name] as Hook[]) {
      if (hook.length < 4) await hook(request, reply)
      else await new Promise<void>(resolve => void hook(request, reply, reply.payload, () => resolve()))
    }
  }

  async function finish(request: Request, reply: Reply): Promise<void> {
    await runHooks('onSend', request, reply)
    const text = reply.payload ?? ''
    observer.onAnswer(request, reply.statusCode, text)
    reply.raw.writeHead(reply.statusCode, { ...reply.getHeaders(), 'content-length': Buffer.byteLength(text) })
    reply.raw.end(text)
  }

  async function handle(raw: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = (raw.url ?? '').replace(/\?.*$/, '')
    let params: Record<string, string> = {}
    const route = routes.find(({ method, pattern, names }) => {
      const match = [method].flat().includes(raw.method ?? '') ? pattern.exec(path) : null
      if (match)
        params = Object.fromEntries(names.map((name, index) => [name, decodeURIComponent(match[index + 1] ?? '')]))
      return match !== null
    })
    const request: Request = {
      ...decorations,
      raw,
      params,
      body: undefined,
      arrivedAt: undefined,
      id: genReqId(),
      method: raw.method,
      headers: raw.headers,
      socket: raw.socket,
      ip: '10.0.0.1',
      is404: route === undefined,
      server: app,
      routeOptions: { config: route?.config ?? {}, url: route?.url },
    }
    const reply = new Reply(response, request)
    try {
      await runHooks('onRequest', request, reply)
      if (raw.method !== 'GET') request.body = await readBody(raw, parse)
      request.arrivedAt = performance.now()
      await runHooks('preHandler', request, reply)
      if (!route) return onMissing()
      const result = await route.handler(request, reply)
      if (reply.isHijacked) return
      if (result !== reply) reply.send(result)
      await finish(request, reply)
    } catch (error) {
      if (reply.isHijacked || response.headersSent || response.destroyed) return
      onError(error, request, reply)
      await finish(request, reply)
    }
  }

  const server = createServer(
    { keepAliveTimeout: keepAliveTimeoutMs } as object,
    (raw, response) => void handle(raw, response),
  )
  server.on('clientError', (error, socket) => clientErrorHandler(error, socket as never))
  const app = {
    server,
    close: async () => {},
    decorateRequest: (name: string, value: unknown) => {
      decorations[name] = value
    },
    addHook: (name: string, hook: Hook) => hooks[name]?.push(hook),
    addHttpMethod: () => {},
    removeAllContentTypeParsers: () => {},
    addContentTypeParser: (type: string, _options: unknown, parser: typeof parse) => {
      if (type !== '*') parse = parser
    },
    setErrorHandler: (handler: typeof onError) => {
      onError = handler
    },
    setNotFoundHandler: (handler: () => void) => {
      onMissing = handler
    },
    register: (plugin: (scope: unknown) => unknown) => plugin(app),
    route: (route: Route) => {
      const names: string[] = []
      const pattern = route.url.replace(/:(\w+)/g, (_, name: string) => {
        names.push(name)
        return '([^/]+)'
      })
      routes.push({ ...route, pattern: new RegExp(`^${pattern}$`), names })
      for (const hook of hooks['onRoute'] as Hook[]) hook(route as never, undefined as never)
    },
  }
  return app
}

async function readBody(raw: IncomingMessage, parse: (request: unknown, body: Buffer) => Promise<unknown>) {
  const chunks: Buffer[] = []
  for await (const chunk of raw) chunks.push(chunk as Buffer)
  return chunks.length === 0 ? undefined : await parse(raw, Buffer.concat(chunks))
}
