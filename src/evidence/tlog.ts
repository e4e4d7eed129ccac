// Formats checkpoints and inclusion proofs for public witnesses: C2SP signed-note, tlog-checkpoint, tlog-proof.

import { createHash, type KeyObject } from 'node:crypto'
import { publicBytes } from './keys.ts'

/** Ed25519 signature of the note's text. */
const signatureType = Buffer.of(1)

/** Returns the text of a checkpoint, which the note signs. */
export function noteText(origin: string, { size, root }: { readonly size: number; readonly root: Buffer }): string {
  return `${origin}\n${size}\n${root.toString('base64')}\n`
}

/** The key's name must contain no blanks and no plus. */
export function signedNote(text: string, name: string, key: KeyObject, signature: Buffer): string {
  return `${text}\n— ${name} ${Buffer.concat([noteKeyId(name, key), signature]).toString('base64')}\n`
}

/** Returns a public key in the form that verifiers of notes are configured with. */
export function verifierKey(name: string, key: KeyObject): string {
  const bytes = Buffer.concat([signatureType, publicBytes(key)])
  return `${name}+${noteKeyId(name, key).toString('hex')}+${bytes.toString('base64')}`
}

/** Returns the note's 4-byte key id. */
function noteKeyId(name: string, key: KeyObject): Buffer {
  const hash = createHash('sha256').update(`${name}\n`).update(signatureType).update(publicBytes(key))
  return hash.digest().subarray(0, 4)
}
