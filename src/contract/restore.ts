import * as z from 'zod'
import { Consent } from './consents.ts'
import { ById, type EndpointDocs, endpoint, NoQuery } from './endpoint.ts'
import { operators } from './roles.ts'

export const Restoration = z.strictObject({
  despite_erasure: z
    .boolean('must be true or false')
    .optional()
    .describe('Also restores a record that an erasure request covers; default: false.'),
})
export type Restoration = z.output<typeof Restoration>

export const restore = endpoint({
  summary: 'Restore a deleted record that is not purged yet; its history says so',
  method: 'POST',
  path: '/api/v1/consents/:id/restore',
  access: 'account',
  scope: 'erase',
  siteKeys: 'filtered',
  roles: operators,
  params: ById,
  query: NoQuery,
  body: Restoration,
  status: 200,
  response: Consent,
  errors: ['conflict'],
})

export const restoreDocs: EndpointDocs = {
  description:
    'Can be repeated: a live record is returned as it is, and nothing is written. After the purge it is a 409. So is a record that an erasure request covers (`POST /api/v1/subjects/erase` deleted it, or came after its deletion), or of which that was not recorded because it was deleted by an earlier version, unless `despite_erasure` is true: the action of the entry is then `restored_despite_erasure`, else `restored`. Retention counts from the restore.',
  success: 'The record, live again.',
}
