import { formatSums, isPackFile, sumsFile } from '../evidence/pack-names.ts'
import { type Collected, contentOf } from './content.ts'
import { formatPackPage } from './page.ts'
import { formatReadme } from './readme.ts'
import type { PackOrigin } from './words.ts'

/**
 * Adds the explanations and an unsigned file list: a browser has no profile key. Verifies nothing. `digest`: SHA-256 in
 * hexadecimal. @throws Error for a name that no pack has
 */
export async function listUnsealed(
  collected: Collected,
  origin: Pick<PackOrigin, 'instance' | 'created_at'>,
  digest: (bytes: Uint8Array) => Promise<string>,
): Promise<Map<string, Uint8Array>> {
  const content = contentOf(collected)
  const about = { ...origin, isSealed: false }
  const texts = [
    ...collected,
    ['README.txt', formatReadme(content, about)],
    ['index.html', formatPackPage(content, about)],
  ]
  const files = new Map<string, Uint8Array>()
  for (const [name, text] of texts as [string, string | Uint8Array][]) {
    if (!isPackFile(name)) throw new Error(`no evidence pack has a file ${JSON.stringify(name)}`)
    files.set(name, encode(text))
  }
  const names = [...files.keys()].sort()
  const list = await Promise.all(
    names.map(async name => ({ name, sha256: await digest(encode(files.get(name) ?? '')) })),
  )
  return files.set(sumsFile, encode(formatSums(list)))
}

function encode(content: string | Uint8Array): Uint8Array {
  return typeof content === 'string' ? new TextEncoder().encode(content) : content
}
