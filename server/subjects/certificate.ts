import type { ErasureCertificate } from '../../src/contract/documents/erasure-certificate.ts'
import type { SubjectErasure } from '../../src/contract/index.ts'
import type { Caller } from '../auth/caller.ts'
import type { Config } from '../config.ts'
import type { Signer } from '../evidence/signer.ts'
import { instantOf, newId } from '../ids.ts'
import type { SiteCount } from './queries.ts'

/** An erasure as it was done. */
export interface Done {
  readonly caller: Caller
  readonly erasure: SubjectErasure
  /** Records that were deleted, by site. */
  readonly erased: ReadonlyMap<string, number>
  /** What the sites have of the subject since. */
  readonly counts: readonly SiteCount[]
  readonly subjectHmac: string
}

/** Of a site whose records were purged as soon as they were deleted. */
const nothing = { deleted: 0, remaining: 0 }

/** The text of a signed certificate. */
export function certificateOf(
  { caller, erasure, erased, counts, subjectHmac }: Done,
  { signer, config }: { readonly signer: Signer; readonly config: Pick<Config, 'purgeAfterDays'> },
): string {
  const sites = new Map([...erased].map(([site_id, erased]) => [site_id, { site_id, erased, ...nothing }]))
  for (const { site_id, live, deleted } of counts)
    sites.set(site_id, { site_id, erased: erased.get(site_id) ?? 0, deleted, remaining: live })
  const total = (of: 'erased' | 'deleted' | 'remaining') =>
    [...sites.values()].reduce((sum, site) => sum + site[of], 0)
  const id = newId()
  const certificate: Omit<ErasureCertificate, 'key_id'> = {
    type: 'erasure_certificate',
    version: 1,
    certificate_id: id,
    issued_at: instantOf(id).toISOString(),
    statement: 'logically deleted, audit trail kept',
    account_id: caller.accountId,
    subject_hmac: subjectHmac,
    erased_by: { kind: caller.kind === 'user' ? 'user' : 'api_key', id: caller.id },
    ticket: erasure.ticket ?? null,
    reason: erasure.reason ?? null,
    erased: total('erased'),
    deleted: total('deleted'),
    remaining: total('remaining'),
    sites: [...sites.values()],
    purge_after_days: config.purgeAfterDays,
  }
  return signer.sign(certificate)
}
