import { createHash } from 'node:crypto'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type ConsentReceipt, stateTerms } from '../../../src/contract/documents/consent-receipt.ts'
import type { ErasureReceipt } from '../../../src/contract/documents/erasure-receipt.ts'
import type { AuditEntry, InclusionProof } from '../../../src/contract/index.ts'
import { keyIdOf, signingKeyOf } from '../../../src/evidence/keys.ts'
import { leafHash, MerkleTree } from '../../../src/evidence/merkle.ts'
import { listFiles } from '../../../src/evidence/pack.ts'
import { inclusionRanges, type Range } from '../../../src/evidence/proofs.ts'
import { signDocument } from '../../../src/evidence/signed.ts'
import { consentOf, datePurposes } from '../../../src/evidence/state.ts'

const folderOf = (path: string) => fileURLToPath(new URL(`../../../${path}`, import.meta.url))
export const pagesFolder = folderOf('src/evidence')
const examplesFolder = folderOf('test/fixtures/verifier/examples')
const packFolder = folderOf('test/fixtures/verifier/example-pack')

const sha256 = (data: string) => createHash('sha256').update(data)

/** The pages of the formats, by name. */
export const pages: ReadonlyMap<string, string> = new Map(
  readdirSync(pagesFolder)
    .filter(name => name.endsWith('.md'))
    .map(name => [name, readFileSync(join(pagesFolder, name), 'utf8')]),
)

export const examplePack: ReadonlyMap<string, string> = new Map(
  readdirSync(packFolder, { recursive: true, encoding: 'utf8' })
    .filter(name => statSync(join(packFolder, name)).isFile())
    .map(name => [name, readFileSync(join(packFolder, name), 'utf8')]),
)

/** The examples in the pages, in files of their own, and in the pack, by name. */
export const examples: Readonly<Record<string, string>> = {
  ...Object.fromEntries(
    [...pages.values()].flatMap(page =>
      [...page.matchAll(/<!-- ([\w ]+) -->\n```(?!sh)\w*\n([^`]*)```\n/g)].map(([, name, text]) => [name, text]),
    ),
  ),
  ...Object.fromEntries(
    readdirSync(examplesFolder).map(name => [
      name.replace(/\.\w+$/, '').replaceAll('-', ' '),
      readFileSync(join(examplesFolder, name), 'utf8'),
    ]),
  ),
  keys: examplePack.get('consent-keys.json') ?? '',
  'consent receipt': examplePack.get('receipt.json') ?? '',
  'evidence pack': examplePack.get('pack.json') ?? '',
  publication: `${examplePack.get('notice.json')}\n`,
}

const seeded = (byte: number) => signingKeyOf(Buffer.alloc(32, byte))
export const serviceKey = seeded(1)
export const profileKey = seeded(2)
const keys = new Map([serviceKey, profileKey, seeded(4)].map(key => [keyIdOf(key), key]))

// biome-ignore lint/suspicious/noExplicitAny: JSON of the examples
type Json = any

/** Signs an example again, with other fields or with its own. */
export function signedAgain(text: string, change: (document: Json) => object = () => ({})): string {
  const { signature: _, ...document } = JSON.parse(text)
  const key = keys.get(document.key_id)
  if (!key) throw new Error(`no key ${document.key_id}`)
  return signDocument({ ...document, ...change(document) }, key)
}

const entriesOf = (name: string): AuditEntry[] => JSON.parse(examples[name] ?? '').data
export const history = entriesOf('history')

/** The leaves of the log: the publication of the notice, then the record. */
const hashes = [
  sha256(examplePack.get('notice.json') ?? '').digest(),
  ...entriesOf('purged history').map(({ hash }) => Buffer.from(hash ?? '', 'hex')),
]

/** The root of a few leaves. */
export function rootOf({ from, to }: Range): string {
  const subtree = new MerkleTree()
  for (const hash of hashes.slice(from, to)) subtree.append(hash)
  return subtree.root.toString('hex')
}

export const proofOf = (record_id: string, version: number, leaf_index: number, tree_size: number): InclusionProof => ({
  ...{ record_id, version, leaf_index },
  leaf_hash: leafHash(hashes[leaf_index] as Buffer).toString('hex'),
  ...{ tree_size, root_hash: rootOf({ from: 0, to: tree_size }) },
  path: inclusionRanges(leaf_index, tree_size).map(rootOf),
})

/** The purposes of a receipt with a history. */
export function purposesOf(entries: readonly AuditEntry[], named: readonly string[] = []): ConsentReceipt['purposes'] {
  const times = entries.map(({ given_at, created_at }) => given_at ?? created_at)
  return datePurposes(consentOf(entries, named).purposes, times)
}

export function eventsOf(entries: readonly AuditEntry[], named: readonly string[] = []): ConsentReceipt['events'] {
  const { events } = consentOf(entries, named)
  return entries.map((entry, index) => ({
    event_id: entry.id,
    event_time: entry.created_at,
    event_type: 'dpv:Consent',
    event_state: stateTerms[events[index]?.state ?? 'refused'],
    entity_id: entry.actor_id,
    changed_by: entry.changed_by as 'api_key',
    preferences: entry.preferences ?? {},
    given_at: entry.given_at ?? null,
    gpc: entry.gpc === true,
    ...(entry.circumstances && { circumstances: entry.circumstances }),
  }))
}

/** A receipt of the imported history. */
export const importedReceipt = signedAgain(examples['consent receipt'] ?? '', ({ privacy_notice }) => {
  const entries = entriesOf('imported history')
  const { site_id, policy_version } = privacy_notice
  return {
    ...{ consent_id: null, country: null, region: null, preferences: { analytics: true } },
    privacy_notice: { site_id, policy_version, locale: null, notice: 'not held' },
    issued_at: '2026-02-03T09:30:00.000Z',
    ...{ events: eventsOf(entries), purposes: purposesOf(entries) },
    ...{ record_version: entries.length, chain_head: entries.at(-1)?.hash },
    ...{ consent_status: 'urn:consentctl:ConsentPartlyGiven', expires_at: null },
    ...{ inclusion: null, origin: JSON.parse(examples['origin of a receipt'] ?? '') },
  }
})

/** The receipt of the purge of what the first one deleted, with this statement. */
export function purgeReceipt(statement: string, own: Partial<ErasureReceipt> = {}): string {
  const sha256Of = (name: string) => sha256(examples[name] ?? '').digest('hex')
  const purge = {
    receipt: { number: 1, sha256: sha256Of('erasure receipt') },
    ...{ finished_at: '2026-02-04T09:30:01.000Z', who: 'jo', host: 'desk' },
    certificates: [examples['purge certificate']],
  }
  const previous = { number: 2, sha256: sha256Of('next erasure receipt') }
  return signedAgain(examples['erasure receipt'] ?? '', () => ({ number: 3, previous, statement, purge, ...own }))
}

/** A file list and its signature, anew. */
export function sealed(files: ReadonlyMap<string, string>): Map<string, string> {
  const bytes = new Map([...files].map(([name, text]) => [name, Buffer.from(text)]))
  return new Map(files).set(
    'pack.json',
    signedAgain(examples['evidence pack'] ?? '', () => ({ files: listFiles(bytes) })),
  )
}
