import { type KeyObject, sign, verify } from 'node:crypto'
import { Checkpoint } from '../contract/documents/checkpoint.ts'
import { parseExactJson } from '../contract/json.ts'

/** The last line of a signed document: 64 bytes in base64, in the one way there is to write them. */
const lastLine = /\n"signature":"([A-Za-z\d+/]{85}[AQgw]==)"\}\n$/

/** A document that says what it is, and by which key it is signed. */
export interface SignedFields {
  /** What it is, such as `erasure_receipt`. */
  readonly type: string
  /** Of the type, from 1. */
  readonly version: number
  /** The key it is signed with, by `keyIdOf`. */
  readonly key_id: string
}

/**
 * A document with its Ed25519 signature (RFC 8032): JSON in ASCII whose last line is the signature of the bytes of all the
 * lines above it. Those bytes and that signature are what `openssl pkeyutl -verify -rawin` takes.
 */
export function signDocument(document: SignedFields, key: KeyObject): string {
  const text = JSON.stringify(document, null, 2).replace(/[\u007f-\uffff]/g, escaped)
  const message = `${text.slice(0, -2)},\n`
  return `${message}"signature":"${sign(null, Buffer.from(message), key).toString('base64')}"}\n`
}

/** What a signed document says, before anybody has looked whether its signature is valid. */
export interface Claimed {
  readonly document: Readonly<Record<string, unknown>> & SignedFields
  /** Whether the signature is that key's, of exactly these bytes. */
  isSignedBy(key: KeyObject): boolean
}

/** Reads a signed document. Throws a SyntaxError, with what is wrong after "the document …", for what is none. */
export function readSigned(bytes: Uint8Array): Claimed {
  const text = Buffer.from(bytes).toString('latin1')
  const signature = lastLine.exec(text)?.[1]
  if (signature === undefined || /[^\n -~]/.test(text))
    throw new SyntaxError('has no signature as its last line')
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
  /** As it was signed. */
  readonly text: string
}

/** Reads a checkpoint; its signature is not looked at yet. Throws a SyntaxError for what is none. */
export function readCheckpoint(text: string): SignedCheckpoint {
  const { document, isSignedBy } = readSigned(Buffer.from(text))
  const parsed = Checkpoint.safeParse(document)
  if (!parsed.success) throw new SyntaxError('is no checkpoint')
  return { checkpoint: parsed.data, text, isSignedBy }
}

/** The documents of a file that holds signed ones, one after the other: each ends with the line of its signature. */
export function splitDocuments(text: string): string[] {
  return text.split(/(?<=\n"signature":"[^"\n]*"\}\n)/).filter(piece => piece !== '')
}
