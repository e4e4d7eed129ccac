import type { api } from './api.ts'
import { auditDocs } from './audit.ts'
import { bannerDocs } from './banner.ts'
import { createBatchDocs } from './batch.ts'
import { callerDocs } from './caller.ts'
import { checkDocs, checkManyDocs } from './check.ts'
import { consentsDocs } from './consents.ts'
import type { ResourceDocs } from './endpoint.ts'
import { eventsDocs } from './events.ts'
import { healthDocs } from './health.ts'
import { holdsDocs } from './holds.ts'
import { keysDocs } from './keys.ts'
import { logDocs } from './log.ts'
import { noticeSubjectsDocs } from './notice-subjects.ts'
import { noticesDocs } from './notices.ts'
import { readsDocs } from './reads.ts'
import { evidenceDocs, receiptDocs, sealedEvidenceDocs } from './receipt.ts'
import { requestsDocs } from './requests.ts'
import { restoreDocs } from './restore.ts'
import { sessionDocs } from './session.ts'
import { signingKeysDocs } from './signing-keys.ts'
import { sitesDocs } from './sites.ts'
import { statsDocs } from './stats.ts'
import { documentsDocs } from './subject-documents.ts'
import { subjectsDocs } from './subjects.ts'
import { usageDocs } from './usage.ts'
import { webhooksDocs } from './webhooks.ts'

/** For the server only. */
export const apiDocs: { readonly [Name in keyof typeof api]: ResourceDocs<(typeof api)[Name]> } = {
  consents: {
    ...consentsDocs,
    endpoints: {
      ...consentsDocs.endpoints,
      receipt: receiptDocs,
      evidence: evidenceDocs,
      sealedEvidence: sealedEvidenceDocs,
      createBatch: createBatchDocs,
      restore: restoreDocs,
    },
  },
  banner: bannerDocs,
  session: sessionDocs,
  keys: keysDocs,
  sites: sitesDocs,
  notices: { ...noticesDocs, endpoints: { ...noticesDocs.endpoints, subjects: noticeSubjectsDocs } },
  subjects: { ...subjectsDocs, endpoints: { ...subjectsDocs.endpoints, check: checkDocs, checkMany: checkManyDocs } },
  documents: documentsDocs,
  requests: requestsDocs,
  audit: { ...auditDocs, endpoints: { ...auditDocs.endpoints, reads: readsDocs } },
  holds: holdsDocs,
  events: eventsDocs,
  webhooks: webhooksDocs,
  caller: callerDocs,
  usage: usageDocs,
  stats: statsDocs,
  signingKeys: signingKeysDocs,
  log: logDocs,
  health: healthDocs,
  description: { description: 'This document.', endpoints: { page: { text: '<!doctype html>…' } } },
}
