import type { FastifyInstance, FastifyRequest } from 'fastify'
import { subjects } from '../../src/contract/index.ts'
import { dbErrorCode } from '../db/errors.ts'
import { notesOf } from '../http/outcome.ts'
import { route } from '../http/route.ts'
import { type Deps, eraseSubject, newProgress, type Progress } from './service.ts'

/** The part of a request's patience that deleting may take: the rest is for what is said of it, and for a second try. */
const share = 0.3

const progresses = new WeakMap<FastifyRequest, Progress>()

/** How far the tries of a request are. */
function progressOf(request: FastifyRequest): Progress {
  const tell = (error: unknown) => void notesOf(request).retries.push(dbErrorCode(error) ?? '')
  const own = progresses.get(request) ?? newProgress(performance.now() + share * request.patience, tell)
  progresses.set(request, own)
  return own
}

export function subjectRoutes(app: FastifyInstance, deps: Deps): void {
  route(
    app,
    subjects.erase,
    ({ body }, { caller, request }) => eraseSubject(deps, caller, body, progressOf(request)),
    { isRepeatable: () => true },
  )
}
