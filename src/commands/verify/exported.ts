import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { pipeline } from 'node:stream/promises'

const ending = '.manifest.json'

/**
 * Whether the export that lies beside a manifest is the one that the manifest was signed for, and what is to be said of it;
 * a manifest is named after its export. Throws the system's error for one that cannot be read.
 */
export async function compareExport(manifest: string, sha256: string): Promise<Comparison> {
  const file = manifest.endsWith(ending) ? manifest.slice(0, -ending.length) : null
  const found = file && (await digestOf(file))
  if (!found) return { isOther: false, detail: `its export is not beside it: its SHA-256 must be ${sha256}` }
  return found === sha256
    ? { isOther: false, detail: `${file} is the export that it is for` }
    : { isOther: true, detail: `is valid, but ${file} is not the export that it is for: that was changed` }
}

export interface Comparison {
  /** Whether there is an export, which is not the one. */
  readonly isOther: boolean
  readonly detail: string
}

/** The SHA-256 of a file in hexadecimal; null where there is none. */
async function digestOf(file: string): Promise<string | null> {
  const hash = createHash('sha256')
  try {
    await pipeline(createReadStream(file), hash)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
  return hash.digest('hex')
}
