import type { FastifyInstance } from 'fastify'
import { wrongMediaType } from './failures.ts'
import { parseJson } from './json.ts'

/** JSON in UTF-8 and nothing else; a DELETE's body means nothing (RFC 9110 section 9.3.5), and is not looked at. */
export function installParsers(app: FastifyInstance): void {
  app.addHttpMethod('DELETE', { overrideExisting: true })
  app.removeAllContentTypeParsers()
  app.addContentTypeParser<Buffer>(
    'application/json',
    { parseAs: 'buffer' },
    async (_request: unknown, body: Buffer) => parseJson(body),
  )
  app.addContentTypeParser('*', { parseAs: 'buffer' }, async () => {
    throw wrongMediaType()
  })
}
