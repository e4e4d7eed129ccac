import * as z from 'zod'
import type { Checkpoint } from '../contract/documents/checkpoint.ts'
import type { ConsentReceipt } from '../contract/documents/consent-receipt.ts'
import type { EvidencePack } from '../contract/documents/evidence-pack.ts'
import { Instant, Sha256 } from '../contract/documents/fields.ts'
import { parseExactJson } from '../contract/exact-json.ts'
import { type AuditEntry, Consent, ConsistencyProof, History, InclusionProof } from '../contract/index.ts'
import { sha256 } from './bytes.ts'
import { readCheckpoint, readSigned } from './signed.ts'
import { NotValid } from './verdict.ts'

/** With `/` after a folder. README.md has the format. */
export type PackFiles = ReadonlyMap<string, Buffer>

export const listFile = 'pack.json'

const listed =
  /^(README\.txt|certificate\.html|verify\.sh|consent-keys\.json|keys\/[\w-]{43}\.pem|record\.json|history\.json|receipt\.json|(checkpoint|record(-first|-\d+)?\.inclusion|notice(\.inclusion)?)\.json|checkpoints\/\d+(\.consistency\.json|\.json|\.tsr)|notice\/[A-Za-z\d-]+\.(txt|md|html\.txt|pdf)|administration\/\d+(\.inclusion)?\.json|checkpoint\.tsr)$/

/** All files except `pack.json`. */
export function isPackFile(name: string): boolean {
  return listed.test(name)
}

const administrationEntry = /^administration\/(\d+)\.json$/
const earlierCheckpoint = /^checkpoints\/(\d+)\.json$/
const betweenProof = /^record-(\d+)\.inclusion\.json$/

function listNames(files: PackFiles, pattern: RegExp): string[] {
  const numberOf = (name: string) => Number(pattern.exec(name)?.[1])
  return [...files.keys()].filter(name => pattern.test(name)).sort((one, other) => numberOf(one) - numberOf(other))
}

export function proofOf(file: string): string {
  return file.replace(/json$/, 'inclusion.json')
}

export function consistencyOf(file: string): string {
  return file.replace(/json$/, 'consistency.json')
}

/** HTML gets a second extension, because a browser would run an operator's upload. */
const extensions: Readonly<Record<string, string>> = {
  'text/plain': 'txt',
  'text/markdown': 'md',
  'text/html': 'html.txt',
  'application/pdf': 'pdf',
}

export function textFile(text: { readonly language: string; readonly media_type: string }): string {
  return `notice/${text.language}.${extensions[text.media_type.replace(/;.*$/, '')] ?? 'bin'}`
}

const AccountEntry = z.looseObject({
  type: z.literal('account_entry'),
  version: z.int().min(1),
  account_id: z.string(),
  previous: Sha256.nullable(),
  at: Instant,
  actor: z.looseObject({ kind: z.string(), id: z.string().nullable() }),
  action: z.string(),
  target: z.looseObject({ kind: z.string(), id: z.string().nullable() }).nullable(),
})
type AccountEntry = z.output<typeof AccountEntry>

const Manifest = z.looseObject({
  site_id: z.string(),
  policy_version: z.int().min(1),
  purposes: z.array(z.looseObject({ key: z.string(), title: z.string(), language: z.string().nullable() })),
  controller: z.string().nullable(),
  texts: z.array(
    z.looseObject({
      language: z.string().regex(/^[A-Za-z\d]{1,8}(-[A-Za-z\d]{1,8})*$/),
      media_type: z.string(),
      size: z.int().min(0),
      sha256: Sha256,
    }),
  ),
})
export type NoticeManifest = z.output<typeof Manifest>

export interface ProvedEntry {
  readonly file: string
  readonly hash: Buffer
  readonly entry: AccountEntry
  readonly proof: InclusionProof
}

export interface EarlierCheckpoint {
  readonly file: string
  readonly checkpoint: Checkpoint
  /** Proof to the pack's checkpoint. */
  readonly proof: ConsistencyProof
}

/** Not verified. */
export interface Pack {
  readonly files: PackFiles
  readonly keys: readonly { readonly kid: string; readonly pem: string }[]
  readonly record: Consent
  readonly history: readonly [AuditEntry, ...AuditEntry[]]
  readonly ipNetwork: string | null
  /** Entry of the notice's publication; null if there is none. */
  readonly noticeEntry: number | null
  readonly receipt: ConsentReceipt | null
  readonly checkpoint: Checkpoint
  readonly first: InclusionProof
  readonly last: InclusionProof
  /** Proofs of other entries of the history. */
  readonly between: readonly InclusionProof[]
  /** Sorted by size, smallest first. */
  readonly checkpoints: readonly EarlierCheckpoint[]
  readonly notice: (ProvedEntry & { readonly manifest: NoticeManifest }) | null
  /** Oldest first. */
  readonly administration: readonly ProvedEntry[]
}

/** @throws NotValid for a missing or malformed file */
export function readPack(files: PackFiles): Pack {
  const { data, ip_network, notice_entry } = readJson(files, 'history.json', History)
  const [created, ...later] = data
  if (!created) throw new NotValid('is empty', 'history.json')
  return {
    files,
    keys: readKeys(files),
    record: readJson(files, 'record.json', RecordFile),
    history: [created, ...later],
    ipNetwork: ip_network ?? null,
    noticeEntry: notice_entry ?? null,
    receipt: files.has('receipt.json') ? readReceipt(files) : null,
    checkpoint: readCheckpointOf(files, 'checkpoint.json'),
    first: readJson(files, 'record-first.inclusion.json', InclusionProof),
    last: readJson(files, 'record.inclusion.json', InclusionProof),
    between: listNames(files, betweenProof).map(name => readJson(files, name, InclusionProof)),
    checkpoints: listNames(files, earlierCheckpoint).map(file => readEarlier(files, file)),
    notice: files.has('notice.json') ? readNotice(files) : null,
    administration: listNames(files, administrationEntry).map(name => readEntry(files, name)),
  }
}

/** The API may write '' for null; a pack may not. */
const RecordFile = Consent.extend({ deleted_at: Instant.nullish().transform(time => time ?? null) })

const KeySet = z.object({ keys: z.array(z.looseObject({})) })
const Keys = z.array(z.object({ kid: z.string(), pem: z.string() }))

/** Other keys have no file in the pack. */
function readKeys(files: PackFiles): Pack['keys'] {
  const file = 'consent-keys.json'
  const keys = Keys.safeParse(readJson(files, file, KeySet).keys.filter(({ crv }) => crv === 'Ed25519'))
  if (!keys.success) throw new NotValid('has a key without id or PEM', file)
  return keys.data
}

/** Checks only the type and version of its fields. */
function readReceipt(files: PackFiles): ConsentReceipt {
  const { document } = attempt('receipt.json', () => readSigned(requireFile(files, 'receipt.json')))
  if (document.type !== 'consent_receipt') throw new NotValid('is not a consent receipt', 'receipt.json')
  return document as unknown as ConsentReceipt
}

function readEarlier(files: PackFiles, file: string): EarlierCheckpoint {
  return {
    file,
    checkpoint: readCheckpointOf(files, file),
    proof: readJson(files, consistencyOf(file), ConsistencyProof),
  }
}

function readNotice(files: PackFiles): Pack['notice'] {
  return { ...readEntry(files, 'notice.json'), manifest: readManifest(files) }
}

/** @throws NotValid */
export function readManifest(files: PackFiles): NoticeManifest {
  const manifest = Manifest.safeParse(readJson(files, 'notice.json', AccountEntry)['after'])
  if (!manifest.success) throw new NotValid('has no list of texts', 'notice.json')
  return manifest.data
}

function readEntry(files: PackFiles, file: string): ProvedEntry {
  return {
    file,
    hash: sha256(requireFile(files, file)),
    entry: readJson(files, file, AccountEntry),
    proof: readJson(files, proofOf(file), InclusionProof),
  }
}

function readCheckpointOf(files: PackFiles, file: string): Checkpoint {
  return attempt(file, () => readCheckpoint(requireFile(files, file).toString('latin1')).checkpoint)
}

function readJson<T>(files: PackFiles, file: string, schema: z.ZodType<T>): T {
  const bytes = requireFile(files, file)
  const parsed = schema.safeParse(attempt(file, () => parseExactJson(decode(bytes))))
  if (parsed.success) return parsed.data
  throw new NotValid(`is not of its kind (${parsed.error.issues[0]?.path.join('.') || 'whole'})`, file)
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

function decode(bytes: Buffer): string {
  try {
    return utf8.decode(bytes)
  } catch (cause) {
    throw new SyntaxError('is not UTF-8', { cause })
  }
}

function attempt<T>(file: string, read: () => T): T {
  try {
    return read()
  } catch (error) {
    if (error instanceof SyntaxError) throw new NotValid(error.message, file)
    throw error
  }
}

export function requireFile(files: PackFiles, file: string): Buffer {
  const bytes = files.get(file)
  if (!bytes) throw new NotValid('is missing', file)
  return bytes
}

export function listFiles(files: PackFiles): EvidencePack['files'] {
  return [...files]
    .filter(([name]) => name !== listFile)
    .map(([name, bytes]) => ({ name, bytes: bytes.length, sha256: sha256(bytes).toString('hex') }))
    .sort((one, other) => (one.name < other.name ? -1 : 1))
}
