import { type DocumentKind, documents } from '../../contract/documents/index.ts'
import { type Claimed, readSigned } from '../../evidence/signed.ts'
import type { VerdictRow } from '../../views/verdict.ts'
import { compareExport } from './exported.ts'
import type { FindKeys } from './keys.ts'

/** Says of a document why it is not valid. */
class NotValid extends Error {}

/** Whether the bytes of a file are a signed document: its form, its type and version, its key, its signature, its fields. */
export async function judge(file: string, bytes: Buffer, findKeys: FindKeys): Promise<VerdictRow> {
  const unknown = { file, type: null, signed_by: null, issued_at: null }
  let claimed: Claimed
  try {
    claimed = readSigned(bytes)
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
    return { ...unknown, result: 'not_valid', detail: damageOf(bytes) ?? `it ${error.message}` }
  }
  const { document } = claimed
  try {
    const kind = kindOf(document)
    const source = await requireSignature(claimed, kind, findKeys)
    requireFields(document, kind)
    const compared =
      document.type === 'export_manifest' ? await requireExport(file, document['sha256'] as string) : ''
    return {
      file,
      type: document.type,
      result: 'valid',
      signed_by: document.key_id,
      issued_at: String(document[kind.issuedAt]),
      detail: `the key is ${source}${compared}`,
    }
  } catch (error) {
    if (!(error instanceof NotValid)) throw error
    return { ...unknown, type: document.type, result: 'not_valid', detail: `it ${error.message}` }
  }
}

function kindOf({ type, version }: Claimed['document']): DocumentKind {
  const kind = Object.hasOwn(documents, type) ? documents[type] : undefined
  if (!kind) throw new NotValid(`is of the type ${type}, which this program does not know`)
  if (version > kind.version)
    throw new NotValid(
      `is of version ${version}, and this program knows version ${kind.version}: a newer one can verify it`,
    )
  if (version !== kind.version) throw new NotValid(`is of a version that there is not: ${version}`)
  return kind
}

/** Where the key is from that has signed it. */
async function requireSignature(
  { document, isSignedBy }: Claimed,
  { signer }: DocumentKind,
  findKeys: FindKeys,
): Promise<string> {
  const { byId, source } = await findKeys(signer)
  const key = byId.get(document.key_id)
  if (!key)
    throw new NotValid(`names the key ${document.key_id}, which is unknown: it is none of those ${source}`)
  if (!isSignedBy(key))
    throw new NotValid('is not what was signed: it, its key_id or its signature was changed')
  return source
}

function requireFields(document: Claimed['document'], { schema }: DocumentKind): void {
  const parsed = schema.safeParse(document)
  if (parsed.success) return
  const [issue] = parsed.error.issues
  throw new NotValid(`is signed, but not as its type says (${issue?.path.join('.')}: ${issue?.message})`)
}

/** A manifest proves its export, and nothing where that is another one. */
async function requireExport(manifest: string, sha256: string): Promise<string> {
  const { isOther, detail } = await compareExport(manifest, sha256)
  if (isOther) throw new NotValid(detail)
  return `; ${detail}`
}

/** What editors, shells and mail do to files, by what is seen of it; null where it is none of that. */
function damageOf(bytes: Buffer): string | null {
  const start = bytes.subarray(0, 3).toString('hex')
  if (/^(fffe|feff)/.test(start)) return 'it was turned into UTF-16; the bytes must stay as they were signed'
  if (start === 'efbbbf') return 'it begins with a byte order mark, which was not signed'
  if (bytes.includes('\r'))
    return 'line ends were changed to CRLF; with those of before (tr -d "\\r") it may be valid'
  if (bytes.length > 0 && bytes.at(-1) !== 10)
    return 'its end is missing: the last line must end with a line feed'
  return null
}
