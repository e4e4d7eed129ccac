import type { FastifyInstance, HTTPMethods } from 'fastify'
import type { Access } from '../../src/contract/index.ts'

const all: HTTPMethods[] = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']

/**
 * Routes for the methods that a known path does not have, which the gate answers with 405 and Allow (RFC 9110 section
 * 15.5.6) once it knows the caller.
 */
export function installMethodRefusals(app: FastifyInstance, routes: (app: FastifyInstance) => void): void {
  const known = new Map<string, { methods: Set<string>; access: Access | undefined }>()
  app.addHook('onRoute', ({ url, method, config }) => {
    const entry = known.get(url) ?? { methods: new Set<string>(), access: config?.access }
    for (const one of [method].flat()) entry.methods.add(one)
    known.set(url, entry)
  })
  routes(app)
  for (const [url, { methods, access }] of [...known]) {
    const config = { ...(access && { access }), allow: [...methods].join(', ') }
    app.route({ url, method: all.filter(method => !methods.has(method)), config, handler: async () => {} })
  }
}
