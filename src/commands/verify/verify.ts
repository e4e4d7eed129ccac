import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { pipeline } from 'node:stream/promises'
import type { Command } from 'commander'
import * as z from 'zod'
import { action, collect, nonEmpty } from '../../cli/action.ts'
import { many } from '../../cli/output.ts'
import type { Context } from '../../context.ts'
import { type DocumentKind, documents } from '../../contract/documents/index.ts'
import { exit } from '../../errors/errors.ts'
import { type Claimed, readSigned } from '../../evidence/signed.ts'
import { readBytes } from '../../io/input.ts'
import { type VerdictRow, verdictView } from '../../views/verification.ts'
import { type FindKeys, keysOfFiles, keysOfInstance } from './keys.ts'

const ending = '.manifest.json'

/**
 * Whether the export that lies beside a manifest is the one that the manifest was signed for, and what is to be said of it;
 * a manifest is named after its export. Throws the system's error for one that cannot be read.
 */
async function compareExport(manifest: string, sha256: string): Promise<Comparison> {
  const file = manifest.endsWith(ending) ? manifest.slice(0, -ending.length) : null
  const found = file && (await digestOf(file))
  if (!found) return { isOther: false, detail: `its export is not beside it: its SHA-256 must be ${sha256}` }
  return found === sha256
    ? { isOther: false, detail: `${file} is the export that it is for` }
    : { isOther: true, detail: `is valid, but ${file} is not the export that it is for: that was changed` }
}

interface Comparison {
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

const Options = z.strictObject({
  operands: z.array(nonEmpty),
  keys: z.array(nonEmpty).default([]),
  publicKey: z.array(nonEmpty).default([]),
})

/** Far over any signed document, in MiB. */
const largest = 64

/** `verify`: whether signed documents are as they were signed, and by whom. */
export function verify(command: Command, ctx: Context): void {
  command
    .argument('<file...>', 'signed documents; - is standard input')
    .option('--keys <file>', 'verify with the keys of this set, as a service publishes them', collect)
    .option('--public-key <file>', 'verify with this public key, in PEM', collect)
    .addHelpText(
      'after',
      `
Takes every kind of signed document that there is, and tells them apart. Without these flags a service's
documents are verified with the keys that the instance of the settings publishes, at
/.well-known/consent-keys.json; what a profile has signed, with the key of the profile. It ends with 0 if all
of them are valid, else with 5. With the manifest of an export it also compares the export beside it.

A valid signature proves that the holder of the key has signed exactly these bytes, and no more than you know
of the key. Keys that come from the same place as the document prove little: whoever can forge the one can
forge the other. Fetch them early, keep them apart, and compare key ids with whoever runs the service.

Examples:
  $ consentctl verify receipt.json --keys consent-keys.json
  $ consentctl receipt 01939d2c-7b1a-7c3e-9a51-2f6a1f0d9b11 | consentctl verify - -o json`,
    )
    .action(
      action(ctx, Options, verdictView, async (_, { operands, keys, publicKey }) => {
        const isOffline = keys.length + publicKey.length > 0
        const findKeys = isOffline
          ? await keysOfFiles(ctx, { sets: keys, single: publicKey })
          : keysOfInstance(ctx)
        let areValid = true
        async function* pages(): AsyncGenerator<readonly VerdictRow[]> {
          for (const file of operands) {
            const row = await judge(file, await readBytes(ctx.io, file, largest), findKeys)
            areValid &&= row.result === 'valid'
            yield [row]
          }
        }
        return many(verdictView, pages(), {
          single: operands.length === 1,
          exit: () => (areValid ? exit.done : exit.rejected),
        })
      }),
    )
}
