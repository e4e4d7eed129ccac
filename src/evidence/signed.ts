import { type KeyObject, sign, verify } from 'node:crypto'
import { Checkpoint } from '../contract/documents/checkpoint.ts'
import { parseExactJson } from '../contract/exact-json.ts'

/** 64 bytes in canonical base64. */
const lastLine = /\n"signature":"([A-Za-z\d+/]{85}[AQgw]==)"\}\n$/

export interface SignedFields {
  readonly type: string
  readonly version: number
  /** See `keyIdOf`. */
  readonly key_id: string
}

/** ASCII JSON; the last line is an Ed25519 signature of the lines above. README.md has the format. */
export function signDocument(document: SignedFields, key: KeyObject): string {
  const message = toMessage(document)
  return withSignature(message, sign(null, Buffer.from(message), key))
}

export function toMessage(document: SignedFields): string {
  const text = JSON.stringify(document, null, 2).replace(/[\u007f-\uffff]/g, escaped)
  return `${text.slice(0, -2)},\n`
}

export function withSignature(message: string, signature: Buffer): string {
  return `${message}"signature":"${signature.toString('base64')}"}\n`
}

/** Not verified. */
export interface Claimed {
  readonly document: Readonly<Record<string, unknown>> & SignedFields
  isSignedBy(key: KeyObject): boolean
}

/** @throws SyntaxError with a message that completes "the document …" */
export function readSigned(bytes: Uint8Array): Claimed {
  const text = Buffer.from(bytes).toString('latin1')
  const signature = lastLine.exec(text)?.[1]
  if (signature === undefined || /[^\n -~]/.test(text)) throw new SyntaxError('has no signature as its last line')
  const message = Buffer.from(text.slice(0, text.length - lastLineLength), 'latin1')
  const { signature: _, ...document } = parseExactJson(text) as Record<string, unknown>
  const { type, version, key_id } = document
  if (typeof type !== 'string' || typeof version !== 'number' || typeof key_id !== 'string') {
    throw new SyntaxError('does not say what it is and which key signed it')
  }
  return {
    document: { ...document, type, version, key_id },
    isSignedBy: key => verify(null, message, key, Buffer.from(signature, 'base64')),
  }
}

const lastLineLength = '"signature":""}\n'.length + 88

function escaped(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`
}

export interface SignedCheckpoint extends Pick<Claimed, 'isSignedBy'> {
  readonly checkpoint: Checkpoint
  readonly text: string
}

/** Reads without verifying. @throws SyntaxError */
export function readCheckpoint(text: string): SignedCheckpoint {
  const { document, isSignedBy } = readSigned(Buffer.from(text))
  const parsed = Checkpoint.safeParse(document)
  if (!parsed.success) throw new SyntaxError('is not a checkpoint')
  return { checkpoint: parsed.data, text, isSignedBy }
}

export function toSide({ tree_size: size, root_hash }: Pick<Checkpoint, 'tree_size' | 'root_hash'>) {
  return { size, root: Buffer.from(root_hash, 'hex') }
}

/** Splits after each signature line. */
export function splitDocuments(text: string): string[] {
  return text.split(/(?<=\n"signature":"[^"\n]*"\}\n)/).filter(document => document !== '')
}
