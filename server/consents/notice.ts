import type { ConsentDraft } from '../../src/contract/index.ts'
import { endOfConsent } from '../../src/contract/validity.ts'
import { Failure } from '../failure.ts'
import { type Found, findPublished } from '../notices/published.ts'
import type { ConsentDeps } from './deps.ts'

/** Rejects consents to a text that was never published. */
export function findRejection({ notice, isStrict }: Found, version: number, draft: ConsentDraft): Failure | null {
  const { notice_locale: locale } = draft
  if (!notice)
    return isStrict
      ? invalid(`policy_version: the site requires a published notice, and version ${version} has none`)
      : null
  if (locale === undefined || notice.languages.includes(locale)) return null
  return invalid(`notice_locale: the notice of version ${version} is published only in ${notice.languages.join(', ')}`)
}

function invalid(message: string): Failure {
  return new Failure('invalid_request', message)
}

export function findExpiry(at: Date, accepted: boolean, validFor: string | null): Date | null {
  return accepted ? endOfConsent(at, validFor) : null
}

export async function findValidity(
  deps: Pick<ConsentDeps, 'sql' | 'notices'>,
  accountId: string,
  record: { readonly site_id: string; readonly policy_version: number; readonly notice_entry: number | null },
): Promise<string | null> {
  if (record.notice_entry === null) return null
  const one = { siteId: record.site_id, version: record.policy_version }
  return (await findPublished(deps, accountId, [one]))(one).notice?.validFor ?? null
}
