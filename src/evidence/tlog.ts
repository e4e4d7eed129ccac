// C2SP signed-note, tlog-checkpoint and tlog-proof, for public witnesses.

import { createHash, type KeyObject } from 'node:crypto'
import { publicBytes } from './keys.ts'

const signatureType = Buffer.of(1)

export function noteText(origin: string, { size, root }: { readonly size: number; readonly root: Buffer }): string {
  return `${origin}\n${size}\n${root.toString('base64')}\n`
}

/** No blanks and no plus in `name`. */
export function signedNote(text: string, name: string, key: KeyObject, signature: Buffer): string {
  return `${text}\n— ${name} ${Buffer.concat([noteKeyId(name, key), signature]).toString('base64')}\n`
}

/** A public key in the format of note verifiers. */
export function verifierKey(name: string, key: KeyObject): string {
  const bytes = Buffer.concat([signatureType, publicBytes(key)])
  return `${name}+${noteKeyId(name, key).toString('hex')}+${bytes.toString('base64')}`
}

/** 4 bytes. */
function noteKeyId(name: string, key: KeyObject): Buffer {
  const hash = createHash('sha256').update(`${name}\n`).update(signatureType).update(publicBytes(key))
  return hash.digest().subarray(0, 4)
}

/** `path`: hexadecimal hashes; `note`: the signed checkpoint. */
export function tlogProof(index: number, path: readonly string[], note: string): string {
  const hashes = path.map(hash => `${Buffer.from(hash, 'hex').toString('base64')}\n`)
  return `c2sp.org/tlog-proof@v1\nindex ${index}\n${hashes.join('')}\n${note}`
}
