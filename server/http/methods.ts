import type { FastifyInstance, HTTPMethods } from 'fastify'

const all: HTTPMethods[] = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']

/**
 * Routes for the methods that a known path does not have, which the gate answers with 405 and Allow (RFC 9110 section
 * 15.5.6) once it knows the caller.
 */
export function installMethodRefusals(app: FastifyInstance, routes: (app: FastifyInstance) => void): void {
  const known = new Map<string, { methods: Set<string>; open: boolean }>()
  app.addHook('onRoute', ({ url, method, config }) => {
    const entry = known.get(url) ?? { methods: new Set<string>(), open: config?.open ?? false }
    for (const one of [method].flat()) entry.methods.add(one)
    known.set(url, entry)
  })
  routes(app)
  for (const [url, { methods, open }] of [...known]) {
    const config = { open, allow: [...methods].join(', ') }
    app.route({ url, method: all.filter(method => !methods.has(method)), config, handler: async () => {} })
  }
}
