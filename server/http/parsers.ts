import type { FastifyInstance, FastifyRequest } from 'fastify'
import { wrongMediaType } from './failures.ts'
import { parseJson } from './json.ts'

/** JSON in UTF-8 and nothing else; a DELETE's body means nothing (RFC 9110 section 9.3.5), whatever it is. */
export function installParsers(app: FastifyInstance): void {
  const parser = (read: (body: Buffer) => unknown) => async (request: FastifyRequest, body: Buffer) =>
    request.method === 'DELETE' ? undefined : read(body)
  app.removeAllContentTypeParsers()
  app.addContentTypeParser<Buffer>('application/json', { parseAs: 'buffer' }, parser(parseJson))
  app.addContentTypeParser<Buffer>('*', { parseAs: 'buffer' }, parser(refuse))
}

function refuse(): never {
  throw wrongMediaType()
}
