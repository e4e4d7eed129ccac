import { Checkpoint } from '../contract/documents/checkpoint.ts'
import { type Claimed, readSigned } from './signed.ts'

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
