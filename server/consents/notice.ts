import type { ConsentDraft } from '../../src/contract/index.ts'
import { endOfConsent } from '../../src/contract/validity.ts'
import { Failure } from '../failure.ts'
import type { Found, SiteVersion } from '../notices/published.ts'
import type { Deps } from './deps.ts'

type NoticeDeps = Pick<Deps, 'sql' | 'notices'>

export async function findNotices(
  { sql, notices }: NoticeDeps,
  accountId: string,
  versions: Iterable<SiteVersion>,
): Promise<(one: SiteVersion) => Found> {
  const wanted = new Map<string, SiteVersion>()
  for (const one of versions) wanted.set(keyOf(one), one)
  const found = await notices.find(sql, accountId, [...wanted.values()])
  const byKey = new Map([...wanted.keys()].map((key, index) => [key, found[index] as Found]))
  return one => byKey.get(keyOf(one)) as Found
}

function keyOf({ siteId, version }: SiteVersion): string {
  return `${siteId} ${version}`
}

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
  deps: NoticeDeps,
  accountId: string,
  record: { readonly site_id: string; readonly policy_version: number; readonly notice_entry: number | null },
): Promise<string | null> {
  if (record.notice_entry === null) return null
  const [found] = await deps.notices.find(deps.sql, accountId, [
    { siteId: record.site_id, version: record.policy_version },
  ])
  return found?.notice?.validFor ?? null
}
