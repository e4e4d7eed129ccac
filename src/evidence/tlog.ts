// C2SP signed-note, tlog-checkpoint and tlog-proof, for public witnesses.

import { createHash, type KeyObject } from 'node:crypto'
import { publicBytes } from './keys.ts'

/** Ed25519. */
const signatureType = Buffer.of(1)

/** Returns the part of a checkpoint that is signed. */
export function noteText(origin: string, { size, root }: { readonly size: number; readonly root: Buffer }): string {
  return `${origin}\n${size}\n${root.toString('base64')}\n`
}

/** `name` must contain no blanks and no plus. */
export function signedNote(text: string, name: string, key: KeyObject, signature: Buffer): string {
  return `${text}\n— ${name} ${Buffer.concat([noteKeyId(name, key), signature]).toString('base64')}\n`
}

/** Formats a public key for verifiers of notes. */
export function verifierKey(name: string, key: KeyObject): string {
  const bytes = Buffer.concat([signatureType, publicBytes(key)])
  return `${name}+${noteKeyId(name, key).toString('hex')}+${bytes.toString('base64')}`
}

/** Returns 4 bytes. */
function noteKeyId(name: string, key: KeyObject): Buffer {
  const hash = createHash('sha256').update(`${name}\n`).update(signatureType).update(publicBytes(key))
  return hash.digest().subarray(0, 4)
}
