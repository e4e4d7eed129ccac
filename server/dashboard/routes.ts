import type { FastifyInstance, FastifyRequest } from 'fastify'
import { description } from '../../src/contract/description.ts'
import { health } from '../../src/contract/health.ts'
import { sendFile } from '../http/static-file.ts'
import type { PageFiles } from './files.ts'

/** Read at the first request of a browser, so that an unused dashboard takes no memory. */
let reading: Promise<PageFiles> | undefined

async function pageFiles(): Promise<PageFiles> {
  reading ??= import('./files.ts').then(({ readPageFiles }) => readPageFiles())
  reading.catch(() => {
    reading = undefined
  })
  return await reading
}

const config = { access: 'anyone' } as const

/** Serves the dashboard at `/` to requests that accept HTML. Others get the paths of the API. */
export function rootRoute(app: FastifyInstance, { hasPage }: { readonly hasPage: boolean }): void {
  app.route({
    url: '/',
    method: ['GET', 'HEAD'],
    config,
    handler: async (request, reply) => {
      reply.header('vary', 'accept, accept-encoding')
      if (!hasPage || !/\btext\/html\b/i.test(request.headers.accept ?? ''))
        return { ready: health.ready.path, openapi: description.get.path }
      const { html, script } = await pageFiles()
      reply.headers({ ...pageHeaders(script), 'cache-control': 'no-cache' })
      return sendFile(request, reply, html)
    },
  })
}

/** Unknown files get the error that `reject` throws, like any unknown route. */
export function dashboardRoutes(
  app: FastifyInstance,
  { reject }: { readonly reject: (request: FastifyRequest) => Promise<never> },
): void {
  app.get('/dashboard/:file', { config }, async (request, reply) => {
    const { file } = request.params as { file: string }
    if (!/^(app|icon)-[\da-f]{16}\.(js|css|svg)$/.test(file)) return await reject(request)
    const asset = (await pageFiles()).assets.get(`dashboard/${file}`)
    if (!asset) return await reject(request)
    reply.headers({
      'cache-control': 'public, max-age=31536000, immutable',
      'cross-origin-resource-policy': 'same-origin',
      vary: 'accept-encoding',
    })
    return sendFile(request, reply, asset)
  })
}

/**
 * The policy allows the script by its digest, and requests to this origin. Trusted Types stop text from becoming markup, and
 * no site can frame the page.
 */
function pageHeaders(script: string): Record<string, string> {
  const policy = {
    'default-src': "'none'",
    'script-src': `'${script}'`,
    'style-src': "'self'",
    'img-src': "'self'",
    'connect-src': "'self'",
    'base-uri': "'none'",
    'form-action': "'none'",
    'frame-ancestors': "'none'",
    'require-trusted-types-for': "'script'",
    'trusted-types': "'none'",
  }
  return {
    'content-security-policy': Object.entries(policy)
      .map(([name, value]) => `${name} ${value}`)
      .join('; '),
    'cross-origin-opener-policy': 'same-origin',
    'cross-origin-resource-policy': 'same-origin',
    'referrer-policy': 'no-referrer',
    'permissions-policy': 'camera=(), geolocation=(), microphone=(), payment=(), usb=()',
  }
}
