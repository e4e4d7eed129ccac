import { createHash } from 'node:crypto'
import type { Client } from '../client/client.ts'
import type { ExportManifest } from '../contract/documents/export-manifest.ts'
import type { Consent } from '../contract/index.ts'
import { signDocument } from '../evidence/signed.ts'
import { type OutFile, openOutFile } from '../io/new-file.ts'
import type { Signer } from '../receipts/signer.ts'
import { sha256 } from '../receipts/store.ts'
import { exportTexts } from './export-text.ts'

/** Temporary files, renamed when complete. */
export interface ExportFiles {
  readonly path: string
  readonly data: OutFile
  readonly manifest: OutFile
}

/** The caller commits or abandons the files. @throws CliError usage (exit 2) if one exists */
export async function openExport(path: string, flag: string): Promise<ExportFiles> {
  const data = await openOutFile(path, flag)
  try {
    return { path, data, manifest: await openOutFile(`${path}.manifest.json`, flag) }
  } catch (error) {
    await data.abandon(false)
    throw error
  }
}

export async function abandonExport({ data, manifest }: ExportFiles): Promise<void> {
  await Promise.all([data.abandon(false), manifest.abandon(false)])
}

export interface ExportRequest extends Signer {
  readonly subjects: readonly string[]
}

/** Writes the export and its signed manifest in constant memory. */
export async function writeExport(
  api: Client,
  request: ExportRequest,
  files: ExportFiles,
  pages: AsyncIterable<readonly Consent[]>,
): Promise<ExportManifest & { readonly manifest_sha256: string }> {
  const manifest = await writeData(api, request, files.data, pages)
  const text = signDocument(manifest, request.key.key)
  await files.manifest.write(text)
  await files.data.commit()
  await files.manifest.commit()
  return { ...manifest, manifest_sha256: sha256(text) }
}

async function writeData(
  api: Client,
  { instance, profile, who, host, subjects, key, account_id, api_key_id }: ExportRequest,
  file: OutFile,
  pages: AsyncIterable<readonly Consent[]>,
): Promise<ExportManifest> {
  const hash = createHash('sha256')
  const exported_at = new Date().toISOString()
  let bytes = 0
  let records = 0
  let entries = 0
  const write = async (text: string) => {
    hash.update(text)
    bytes += Buffer.byteLength(text)
    await file.write(text)
  }
  const sites = new Map<string | null, number>()
  for await (const { text, record } of exportTexts(api, { instance, exported_at, subjects }, pages)) {
    await write(text)
    if (!record) continue
    records += 1
    entries += record.entries
    sites.set(record.site_id, (sites.get(record.site_id) ?? 0) + 1)
  }
  return {
    type: 'export_manifest',
    version: 1,
    key_id: key.id,
    instance,
    exported_at,
    profile,
    who,
    host,
    subject_hmacs: subjects.map(subject => key.hmacOf(subject)),
    sites: [...sites].map(([site_id, count]) => ({ site_id, records: count })),
    records,
    entries,
    bytes,
    sha256: hash.digest('hex'),
    account_id,
    api_key_id,
  }
}
