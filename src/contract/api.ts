import * as z from 'zod'
import { audit } from './audit.ts'
import { banner } from './banner.ts'
import { createBatch } from './batch.ts'
import { caller } from './caller.ts'
import { check } from './check.ts'
import { consents } from './consents.ts'
import { endpoint } from './endpoint.ts'
import { health } from './health.ts'
import { keys } from './keys.ts'
import { log } from './log.ts'
import { noticeSubjects } from './notice-subjects.ts'
import { notices } from './notices.ts'
import { receipt } from './receipt.ts'
import { requests } from './requests.ts'
import { restore } from './restore.ts'
import { session } from './session.ts'
import { signingKeys } from './signing-keys.ts'
import { sites } from './sites.ts'
import { stats } from './stats.ts'
import { subjects } from './subjects.ts'
import { usage } from './usage.ts'

const description = {
  get: endpoint({
    summary: 'Get this description of the API (OpenAPI 3.1)',
    method: 'GET',
    path: '/api/v1/openapi.json',
    access: 'anyone',
    status: 200,
    response: z.record(z.string(), z.unknown()).meta({ examples: [{ openapi: '3.1.1' }] }),
  }),
}

export const api = {
  consents: { ...consents, receipt, createBatch, restore },
  banner,
  session,
  keys,
  sites,
  notices: { ...notices, subjects: noticeSubjects },
  subjects: { ...subjects, check },
  requests,
  audit,
  caller,
  usage,
  stats,
  signingKeys,
  log,
  health,
  description,
}
