import type { KeyObject } from 'node:crypto'
import type { Sql } from 'postgres'
import {
  type DocumentDraft,
  type DocumentPage,
  type DocumentQuery,
  documentHmacsLimit,
  documentTicketLimit,
  type KeptDocument,
  type SubjectHmacs,
  storable,
} from '../../src/contract/index.ts'
import { sha256 } from '../../src/evidence/bytes.ts'
import { keyIdOf, publicBytes, publicKeyOf, publicPem, readPublicKey } from '../../src/evidence/keys.ts'
import { type OperatorDocument, readOperatorDocument } from '../../src/evidence/operator-document.ts'
import { type Caller, isKeyCaller } from '../auth/caller.ts'
import { type CursorScope, decodeCursor, encodeCursor } from '../cursor.ts'
import { Failure } from '../failure.ts'
import { newId, readInstant } from '../ids.ts'
import { standInOf } from '../subjects/hmac.ts'
import { type DocumentFilters, type DocumentRow, insertDocument, listDocuments } from './queries.ts'

export interface DocumentDeps {
  readonly sql: Sql
  readonly subjectSecret: Uint8Array
  readonly cursorSecret: Buffer
}

const defaultLimit = 50

/**
 * Idempotent. @throws Failure `invalid_request` for a document that is not a signed one of the account; `forbidden` for
 * one of an erasure without the scope `erase`
 */
export async function keepDocument(
  { sql }: DocumentDeps,
  caller: Caller,
  { document, public_key }: DocumentDraft,
): Promise<KeptDocument> {
  const key = readKey(public_key)
  const { type, number, key_id, ticket, subject_hmacs } = readDocument(document, key, caller)
  if (type === 'erasure_receipt' && isKeyCaller(caller) && !caller.scopes.includes('erase'))
    throw new Failure('forbidden', 'The API key lacks the scope erase.', { reason: 'missing_scope' })
  const id = newId()
  const digest = sha256(document)
  const row = { type, number, key_id, ticket, subject_hmacs, document, sha256: digest, public_key: publicBytes(key) }
  await insertDocument(sql, { ...row, id, created_at: readInstant(id) }, caller)
  const filters = { ...allDocuments, digests: [digest, digest] as const }
  const [kept] = (await listDocuments(sql, caller.accountId, filters, 1)).rows
  if (!kept) throw new Error('the document was not written')
  return toKept(kept)
}

function readKey(pem: string): KeyObject {
  try {
    return readPublicKey(pem)
  } catch {
    throw new Failure('invalid_request', 'public_key: must be an Ed25519 key in PEM')
  }
}

function readDocument(text: string, key: KeyObject, { accountId }: Caller): OperatorDocument {
  const wrong = (what: string) => new Failure('invalid_request', `document: ${what}`)
  const { claimed, document: data } = parse(text, wrong)
  if (data.key_id !== keyIdOf(key)) throw wrong('is signed by another key than public_key')
  if (!claimed.isSignedBy(key)) throw wrong('has an invalid signature')
  if (data.account_id !== accountId) throw wrong('is of another account')
  if (data.hmac_key !== 'account') throw wrong('names the person by HMACs of the profile, not of the account')
  if (data.subjects !== null) throw wrong('names the person in clear text')
  if (data.ticket.length > documentTicketLimit)
    throw wrong(`has a ticket of more than ${documentTicketLimit} characters`)
  if (data.subject_hmacs.length > documentHmacsLimit) throw wrong(`names more than ${documentHmacsLimit} identifiers`)
  if (!storable(data.ticket)) throw wrong('has a ticket that cannot be stored')
  return data
}

function parse(text: string, wrong: (what: string) => Failure) {
  try {
    return readOperatorDocument(Buffer.from(text))
  } catch (error) {
    if (error instanceof SyntaxError) throw wrong(error.message)
    throw error
  }
}

const allDocuments: DocumentFilters = {
  ticket: undefined,
  subjectHmac: undefined,
  keyId: undefined,
  digests: undefined,
  before: undefined,
}

/** @throws Failure `invalid_request` for a cursor of another account or other filters */
export async function getPage(
  { sql, cursorSecret }: DocumentDeps,
  { accountId }: Caller,
  { cursor, limit = defaultLimit, ...query }: DocumentQuery,
): Promise<DocumentPage> {
  const scope: CursorScope = { secret: cursorSecret, accountId, filters: { ...query, of: 'documents' } }
  const filters = {
    ticket: query.ticket,
    subjectHmac: query.subject_hmac,
    keyId: query.key_id,
    digests: query.sha256 === undefined ? undefined : digestsFrom(query.sha256),
    before: cursor === undefined ? undefined : decodeCursor(scope, cursor),
  }
  const { rows, hasMore } = await listDocuments(sql, accountId, filters, limit)
  const last = rows.at(-1)
  return { data: rows.map(toKept), limit, next_cursor: hasMore && last ? encodeCursor(scope, last.id) : null }
}

function digestsFrom(prefix: string): [Buffer, Buffer] {
  return [Buffer.from(prefix.padEnd(64, '0'), 'hex'), Buffer.from(prefix.padEnd(64, 'f'), 'hex')]
}

export function getHmacs(
  deps: DocumentDeps,
  caller: Caller,
  { subject_ids }: { readonly subject_ids: readonly string[] },
): SubjectHmacs {
  return {
    account_id: caller.accountId,
    subject_hmacs: subject_ids.map(subject => standInOf(deps, caller, subject)),
  }
}

function toKept({ id, sha256, document, public_key, key_known_since, created_at }: DocumentRow): KeptDocument {
  return {
    ...{ id, sha256: sha256.toString('hex'), document, public_key: publicPem(publicKeyOf(public_key)) },
    ...{ key_known_since: key_known_since.toISOString(), kept_at: created_at.toISOString() },
  }
}
