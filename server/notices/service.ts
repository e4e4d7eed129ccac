import { isUtf8 } from 'node:buffer'
import { setTimeout as delay } from 'node:timers/promises'
import type { Sql } from 'postgres'
import {
  canonicalLanguage,
  maxNoticeTexts,
  type Notice,
  type NoticeDraft,
  type NoticePublication,
  type NoticeSubjectQuery,
  PolicyVersion,
  parseInstant,
} from '../../src/contract/index.ts'
import { sha256 } from '../../src/evidence/bytes.ts'
import { administrator } from '../audit/entries.ts'
import type { Caller } from '../auth/caller.ts'
import { type CursorScope, decodeCursor, encodeCursor } from '../cursor.ts'
import { toJson } from '../db/rows.ts'
import { coverInRequest, type Log } from '../evidence/log.ts'
import { findLastCheckpoint } from '../evidence/queries.ts'
import type { Signer } from '../evidence/signer.ts'
import { Failure, noSite, unavailable } from '../failure.ts'
import { updateSite } from '../sites/queries.ts'
import type { PublishedNotices } from './published.ts'
import type { NoticeKey, NoticeRow, StoredText } from './queries.ts'
import * as queries from './queries.ts'
import { findNoticeSubjects } from './subject-queries.ts'

export interface NoticeDeps {
  readonly sql: Sql
  readonly signer: Signer
  readonly notices: PublishedNotices
  readonly onBackdated?: Log['onBackdated']
}

/** @throws Failure `not_found` */
export async function getNotices(
  { sql }: Pick<NoticeDeps, 'sql'>,
  { accountId }: Caller,
  siteId: string,
): Promise<{ data: Notice[] }> {
  const rows = await queries.listNotices(sql, accountId, siteId)
  if (rows.length === 0 && !(await queries.hasSite(sql, accountId, siteId))) throw noSite()
  return { data: rows.map(toNotice) }
}

/** @throws Failure `not_found` */
export async function getNotice({ sql }: Pick<NoticeDeps, 'sql'>, key: NoticeKey): Promise<Notice> {
  return toNotice(await requireNotice(sql, key))
}

/** @throws Failure `not_found`; `conflict` for a published notice */
export async function putDraft({ sql }: Pick<NoticeDeps, 'sql'>, key: NoticeKey, draft: NoticeDraft): Promise<Notice> {
  const { effective_from: from = null } = draft
  const effectiveFrom = from === null ? null : toDate(from)
  await queries.upsertDraft(sql, key, draft, { effectiveFrom, at: new Date() })
  return toNotice(await requireDraft(sql, key))
}

/** @throws Failure `not_found`; `conflict` for a published notice */
export async function removeDraft({ sql }: Pick<NoticeDeps, 'sql'>, key: NoticeKey): Promise<null> {
  if (await queries.deleteDraft(sql, key)) return null
  await requireDraft(sql, key)
  throw unavailable('Another caller is changing this notice.')
}

export interface Upload {
  readonly mediaType: string
  readonly content: Buffer
}

/** @throws Failure `not_found`; `conflict` for a published notice; `invalid_request` */
export async function putText(
  { sql }: Pick<NoticeDeps, 'sql'>,
  key: NoticeKey,
  tag: string,
  { mediaType, content }: Upload,
): Promise<Notice> {
  const language = canonicalLanguage(tag)
  if (language === null)
    throw new Failure('invalid_request', 'language: must be a BCP 47 language tag, such as de or pt-BR')
  if (content.length === 0) throw new Failure('invalid_request', 'The text is empty.')
  if (mediaType.startsWith('text/') && !isUtf8(content)) throw new Failure('invalid_request', 'The text is not UTF-8.')
  const text: StoredText = { language, mediaType, sha256: sha256(content), content }
  const isWritten = await queries.upsertText(sql, key, text, { at: new Date(), maxTexts: maxNoticeTexts })
  const row = isWritten ? await requireNotice(sql, key) : await requireDraft(sql, key) // maybe published since, with the text
  const digest = text.sha256.toString('hex')
  if (row.texts.some(one => one.language === language && one.sha256 === digest && one.media_type === mediaType))
    return toNotice(row)
  if (row.texts.length >= maxNoticeTexts)
    throw new Failure('invalid_request', `A notice has at most ${maxNoticeTexts} texts.`)
  throw unavailable('Another caller is changing this notice.')
}

/** @throws Failure `not_found`; `conflict` for a published notice */
export async function removeText({ sql }: Pick<NoticeDeps, 'sql'>, key: NoticeKey, tag: string): Promise<null> {
  const language = canonicalLanguage(tag)
  if (language !== null && (await queries.deleteText(sql, key, language, new Date()))) return null
  await requireDraft(sql, key)
  throw noText()
}

/** @throws Failure `not_found` */
export async function getText(
  { sql }: Pick<NoticeDeps, 'sql'>,
  key: NoticeKey,
  tag: string,
): Promise<Upload & { readonly language: string }> {
  const language = canonicalLanguage(tag)
  const text = language === null ? undefined : await queries.findText(sql, key, language)
  if (!text || language === null) {
    await requireNotice(sql, key)
    throw noText()
  }
  return { ...text, language }
}

const maxAttempts = 5

/**
 * Publishes a draft: its entry, then a checkpoint over it, then the site's policy version. Skips steps already done.
 * @throws Failure `not_found`; `conflict` for no text or another revision; `unavailable` until the log covers it
 */
export async function publish(
  deps: NoticeDeps,
  caller: Caller,
  key: NoticeKey,
  { revision }: NoticePublication,
): Promise<Notice> {
  const { sql, notices } = deps
  let row = await requireNotice(sql, key)
  for (let attempt = 0; attempt < maxAttempts && row.published_entry === null; attempt += 1) {
    requireRevision(row, revision)
    if (row.texts.length === 0) throw new Failure('conflict', 'The notice has no text yet.')
    await queries.publishDraft(sql, key, row.revision, { actor: administrator(caller), at: new Date() })
    row = await requireNotice(sql, key)
  }
  requireRevision(row, revision)
  if (row.published_entry === null) throw unavailable('Another caller is changing this notice.')
  row = await untilHeld(deps, key, row)
  notices.clear()
  if (isInEffect(row)) await raisePolicyVersion(deps, caller, key, row.published_entry ?? 0)
  return toNotice(row)
}

function requireRevision(row: NoticeRow, revision: number | undefined): void {
  if (revision === undefined || row.revision === revision) return
  const what = row.published_entry === null ? 'The draft has changed' : 'Another draft was published'
  throw new Failure('conflict', `${what}: it has revision ${row.revision}.`, { reason: 'concurrent_change' })
}

const coverIntervalMs = 50
const maxCovers = 20

async function untilHeld(deps: NoticeDeps, key: NoticeKey, row: NoticeRow): Promise<NoticeRow> {
  let present = row
  for (let attempt = 0; !(await isCovered(deps, key, present)); attempt += 1) {
    if (attempt === maxCovers) throw unavailable('The notice is published, but not in the signed log yet.')
    if (attempt > 0) await delay(coverIntervalMs)
    await coverInRequest(deps, key.accountId)
    present = await requireNotice(deps.sql, key)
  }
  return present
}

/** A follower of events may have placed the publication before a checkpoint. */
async function isCovered({ sql }: NoticeDeps, { accountId }: NoticeKey, { leaf_index }: NoticeRow): Promise<boolean> {
  return leaf_index !== null && leaf_index < ((await findLastCheckpoint(sql, accountId))?.tree_size ?? 0)
}

function isInEffect({ effective_from }: NoticeRow): boolean {
  return effective_from === null || effective_from.getTime() <= Date.now()
}

/** Does nothing if the version was changed since the publication. */
async function raisePolicyVersion({ sql }: NoticeDeps, caller: Caller, key: NoticeKey, entry: number): Promise<void> {
  const site = { accountId: key.accountId, id: key.siteId }
  const event = { actor: administrator(caller), at: new Date() }
  const isDue = queries.policyVersionIsDue(sql, key, entry)
  await updateSite(sql, site, { policy_version: key.version }, event, isDue)
}

/** @throws Failure `not_found` for text that is not a version */
export function parseVersion(text: string): number {
  const parsed = PolicyVersion.safeParse(/^[1-9]\d{0,9}$/.test(text) ? Number(text) : 0)
  if (!parsed.success) throw noNotice()
  return parsed.data
}

async function requireNotice(sql: Sql, key: NoticeKey): Promise<NoticeRow> {
  const row = await queries.findNotice(sql, key)
  if (row) return row
  throw noNotice()
}

async function requireDraft(sql: Sql, key: NoticeKey): Promise<NoticeRow> {
  const row = await requireNotice(sql, key)
  if (row.published_entry === null) return row
  const message = 'The notice is published and can no longer change. Publish another version.'
  throw new Failure('conflict', message, { reason: 'already_published' })
}

function toDate(instant: string): Date {
  const at = new Date(parseInstant(instant) ?? 0)
  if (at.getUTCFullYear() >= 1000 && at.getUTCFullYear() <= 9999) return at
  throw new Failure('invalid_request', 'effective_from: must be in the years 1000 to 9999')
}

function toNotice(row: NoticeRow): Notice {
  return { ...toJson<Omit<Notice, 'state'>>(row), state: row.published_entry === null ? 'draft' : 'published' }
}

function noNotice(): Failure {
  return new Failure('not_found', 'There is no such notice.')
}

function noText(): Failure {
  return new Failure('not_found', 'The notice has no text in this language.')
}

const defaultLimit = 50

export interface NoticeSubjectDeps {
  readonly sql: Sql
  readonly cursorSecret: Buffer
}

/**
 * Returns a NoticeSubjectPage as JSON.
 * @throws Failure `not_found`; `invalid_request` for a cursor of another version
 */
export async function getSubjects(
  { sql, cursorSecret }: NoticeSubjectDeps,
  { accountId }: Caller,
  { siteId, version }: { readonly siteId: string; readonly version: number },
  { cursor, limit = defaultLimit }: NoticeSubjectQuery,
): Promise<string> {
  const filters = { of: 'notice subjects', site_id: siteId, version }
  const scope: CursorScope = { secret: cursorSecret, accountId, filters }
  const before = cursor === undefined ? undefined : decodeCursor(scope, cursor)
  const page = await findNoticeSubjects(sql, accountId, { siteId, version, before }, limit)
  if (!page || page.records === null) throw noSite()
  const last = page.has_more ? page.last : page.examined
  const next = last === null ? null : encodeCursor(scope, last)
  return `{"data":[${page.records}],"limit":${limit},"next_cursor":${JSON.stringify(next)}}`
}
