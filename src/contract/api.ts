import { audit } from './audit.ts'
import { banner } from './banner.ts'
import { createBatch } from './batch.ts'
import { caller } from './caller.ts'
import { check, checkMany } from './check.ts'
import { consents } from './consents.ts'
import { description } from './description.ts'
import { events } from './events.ts'
import { health } from './health.ts'
import { holds } from './holds.ts'
import { keys } from './keys.ts'
import { log } from './log.ts'
import { noticeSubjects } from './notice-subjects.ts'
import { notices } from './notices.ts'
import { reads } from './reads.ts'
import { evidence, receipt, sealedEvidence } from './receipt.ts'
import { requests } from './requests.ts'
import { restore } from './restore.ts'
import { session } from './session.ts'
import { signingKeys } from './signing-keys.ts'
import { sites } from './sites.ts'
import { stats } from './stats.ts'
import { documents } from './subject-documents.ts'
import { subjects } from './subjects.ts'
import { usage } from './usage.ts'
import { webhooks } from './webhooks.ts'

export const api = {
  consents: { ...consents, receipt, evidence, sealedEvidence, createBatch, restore },
  banner,
  session,
  keys,
  sites,
  notices: { ...notices, subjects: noticeSubjects },
  subjects: { ...subjects, check, checkMany },
  documents,
  requests,
  audit: { ...audit, reads },
  holds,
  events,
  webhooks,
  caller,
  usage,
  stats,
  signingKeys,
  log,
  health,
  description,
}
