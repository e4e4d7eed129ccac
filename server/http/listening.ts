import type { FastifyInstance } from 'fastify'
import { OperatorError } from '../../src/contract/index.ts'

interface Address {
  readonly host: string
  readonly port: number
}

/** Lets the application listen, and resolves to its URL. Throws an OperatorError where that cannot be. */
export async function listen(app: FastifyInstance, { host, port }: Address): Promise<string> {
  try {
    return await app.listen({ host, port })
  } catch (cause) {
    throw explainListen(cause, { host, port }, 'choose another with --port')
  }
}

/** Why a server cannot listen, as an OperatorError where its operator can mend it; `hint` says how. */
export function explainListen(cause: unknown, { host, port }: Address, hint: string): unknown {
  const { code, message } = cause as NodeJS.ErrnoException
  if (code === 'EADDRINUSE') return new OperatorError(`port ${port} of ${host} is in use`, { hint, cause })
  if (code === 'EACCES' || code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND') {
    return new OperatorError(`cannot listen on ${host}:${port}: ${message}`, { hint, cause })
  }
  return cause
}
