import type { FastifyInstance } from 'fastify'
import { maxNoticeTextBytes, noticeSubjects, notices } from '../../src/contract/index.ts'
import { type Reach, reaches } from '../db/reach.ts'
import { Failure, unknownSite } from '../failure.ts'
import { wrongMediaType } from '../http/errors.ts'
import { mediaType } from '../http/parsing.ts'
import { Download, pathId, Raw, route } from '../http/route.ts'
import type { NoticeKey } from './queries.ts'
import * as service from './service.ts'
import { getSubjects, type NoticeSubjectDeps } from './service.ts'

/** A retried change finds its own result. */
const options = { isIdempotent: () => true }

const extensions: Readonly<Record<string, string>> = {
  'text/plain': 'txt',
  'text/markdown': 'md',
  'text/html': 'html',
  'application/pdf': 'pdf',
}

export function noticeRoutes(app: FastifyInstance, deps: service.NoticeDeps & NoticeSubjectDeps): void {
  route(app, notices.list, ({ params }, { caller }) => service.getNotices(deps, caller, siteOf(params, caller)))
  route(app, notices.get, ({ params }, { caller }) => service.getNotice(deps, keyOf(params, caller)))
  route(
    app,
    notices.put,
    ({ params, body }, { caller }) => service.putDraft(deps, keyOf(params, caller), body),
    options,
  )
  route(app, notices.remove, ({ params }, { caller }) => service.removeDraft(deps, keyOf(params, caller)), options)
  route(app, notices.getText, async ({ params }, { caller }) => {
    const key = keyOf(params, caller)
    const { language, mediaType, content } = await service.getText(deps, key, params.language)
    return new Download(content, mediaType, `notice-${key.version}-${language}.${extensions[mediaType] ?? 'bin'}`)
  })
  route(
    app,
    notices.putText,
    ({ params }, { caller, request }) => {
      const { body } = request
      if (!Buffer.isBuffer(body)) throw wrongMediaType(notices.putText.bodyMedia) // JSON, or no body
      const upload = { mediaType: mediaType(request), content: body }
      return service.putText(deps, keyOf(params, caller), params.language, upload)
    },
    { ...options, bodyLimit: maxNoticeTextBytes },
  )
  route(
    app,
    notices.removeText,
    ({ params }, { caller }) => service.removeText(deps, keyOf(params, caller), params.language),
    options,
  )
  route(
    app,
    notices.publish,
    ({ params, body }, { caller }) => service.publish(deps, caller, keyOf(params, caller), body),
    options,
  )
  route(app, noticeSubjects, async ({ params, query }, { caller }) => {
    const key = { siteId: siteOf(params, caller), version: params.version }
    return new Raw(await getSubjects(deps, caller, key, query))
  })
}

function siteOf(params: { readonly id: string }, reach: Reach, message = unknownSite): string {
  const siteId = pathId(params, message)
  if (!reaches(reach, siteId)) throw new Failure('not_found', message)
  return siteId
}

function keyOf(params: { readonly id: string; readonly version: string }, reach: Reach): NoticeKey {
  const siteId = siteOf(params, reach, 'There is no such notice.')
  return { accountId: reach.accountId, siteId, version: service.parseVersion(params.version) }
}
