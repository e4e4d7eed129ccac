import { createHmac, timingSafeEqual } from 'node:crypto'
import canonicalize from 'canonicalize'
import { idBytes, idOf } from '../src/evidence/bytes.ts'
import { Failure } from './failure.ts'

const positionSizes: Readonly<Record<number, number>> = { 1: 16, 2: 24 }
const macSize = 16

/** In another list, a cursor would silently skip rows. */
export interface CursorScope {
  readonly secret: Buffer
  readonly accountId: string
  readonly filters: Readonly<Record<string, unknown>>
}

/** Returns the record's id and a MAC over it, the account and the filters, in base64url. */
export function encodeCursor(scope: CursorScope, lastId: string): string {
  return seal(scope, Buffer.concat([Buffer.of(1), idBytes(lastId)]))
}

export function encodeTimedCursor(scope: CursorScope, { at, id }: Position): string {
  const head = Buffer.alloc(9)
  head.writeUInt8(2)
  head.writeBigInt64BE(BigInt(at.getTime()), 1)
  return seal(scope, Buffer.concat([head, idBytes(id)]))
}

export interface Position {
  readonly at: Date
  readonly id: string
}

function seal(scope: CursorScope, head: Buffer): string {
  return Buffer.concat([head, mac(scope, head)]).toString('base64url')
}

/** @throws Failure `invalid_request` for a cursor that was altered, or issued for another account or filters */
export function decodeCursor(scope: CursorScope, cursor: string): string {
  return idOf(open(scope, cursor, 1).toString('hex'))
}

export function decodeTimedCursor(scope: CursorScope, cursor: string): Position {
  const position = open(scope, cursor, 2)
  return { at: new Date(Number(position.readBigInt64BE())), id: idOf(position.toString('hex', 8)) }
}

function open(scope: CursorScope, cursor: string, version: number): Buffer {
  const bytes = Buffer.from(cursor, 'base64url')
  const head = bytes.subarray(0, 1 + (positionSizes[version] ?? 0))
  const isWhole = bytes.length === head.length + macSize && bytes.toString('base64url') === cursor
  if (!isWhole || head[0] !== version || !timingSafeEqual(bytes.subarray(head.length), mac(scope, head))) {
    throw new Failure('invalid_request', 'cursor: must be the next_cursor of a list with the same filters')
  }
  return head.subarray(1)
}

function mac({ secret, accountId, filters }: CursorScope, head: Buffer): Buffer {
  const bound = Buffer.concat([head, idBytes(accountId), Buffer.from(canonicalize(filters) ?? '')])
  return createHmac('sha256', secret).update(bound).digest().subarray(0, macSize)
}
