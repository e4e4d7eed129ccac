import { createHmac, timingSafeEqual } from 'node:crypto'
import canonicalize from 'canonicalize'
import { idBytes, idOf } from '../../src/evidence/bytes.ts'
import { Failure } from '../failure.ts'

const version = 1
const sizes = { version: 1, position: 16, mac: 16 } as const

/** A cursor is bound to these, because rows of another list would silently be skipped. */
export interface CursorScope {
  readonly secret: Buffer
  readonly accountId: string
  readonly filters: Readonly<Record<string, unknown>>
}

/** Returns the id of the last record and a MAC over it, the account and the filters, in base64url. */
export function encodeCursor(scope: CursorScope, lastId: string): string {
  const head = Buffer.concat([Buffer.of(version), idBytes(lastId)])
  return Buffer.concat([head, mac(scope, head)]).toString('base64url')
}

/** @throws Failure `invalid_request` for a cursor that was altered, or made for another account or filters */
export function decodeCursor(scope: CursorScope, cursor: string): string {
  const bytes = Buffer.from(cursor, 'base64url')
  const head = bytes.subarray(0, sizes.version + sizes.position)
  const isWhole = bytes.length === head.length + sizes.mac && bytes.toString('base64url') === cursor
  if (!isWhole || head[0] !== version || !timingSafeEqual(bytes.subarray(head.length), mac(scope, head))) {
    throw new Failure('invalid_request', 'cursor: must be the next_cursor of a list with the same filters')
  }
  return idOf(head.subarray(sizes.version).toString('hex'))
}

function mac({ secret, accountId, filters }: CursorScope, head: Buffer): Buffer {
  const bound = Buffer.concat([head, idBytes(accountId), Buffer.from(canonicalize(filters) ?? '')])
  return createHmac('sha256', secret).update(bound).digest().subarray(0, sizes.mac)
}
