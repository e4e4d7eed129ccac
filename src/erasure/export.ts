import { createHash } from 'node:crypto'
import type { Context } from '../context.ts'
import type { ExportManifest } from '../contract/documents/export-manifest.ts'
import type { Consent } from '../contract/index.ts'
import { signDocument } from '../evidence/signed.ts'
import { type OutFile, openOutFile } from '../io/new-file.ts'
import { requireBaseUrl } from '../settings/settings.ts'
import { openReceiptKey } from './keys.ts'
import { worker } from './worker.ts'

/** The two files of an export, begun before anything is asked for. */
export interface ExportFiles {
  readonly path: string
  readonly file: OutFile
  readonly manifest: OutFile
}

/** Throws a usage error where one of them is there already. */
export async function openExport(path: string, flag: string): Promise<ExportFiles> {
  const file = await openOutFile(path, flag)
  try {
    return { path, file, manifest: await openOutFile(`${path}.manifest.json`, flag) }
  } catch (error) {
    await file.abandon(false)
    throw error
  }
}

/**
 * Writes records with their histories as one JSON document, and the signed manifest beside it; both get their names
 * when they are whole, or are removed again. Memory does not grow with the records.
 */
export async function writeExport(
  ctx: Context,
  { file, manifest }: ExportFiles,
  subjects: readonly string[],
  pages: AsyncIterable<readonly Consent[]>,
): Promise<ExportManifest> {
  let isWhole = false
  try {
    const key = await openReceiptKey(ctx)
    const document = await write(ctx, file, subjects, pages, {
      key_id: key.id,
      subject_hmacs: subjects.map(subject => key.hmacOf(subject)),
    })
    await manifest.write(signDocument(document, key.key))
    await file.commit()
    await manifest.commit()
    isWhole = true
    return document
  } finally {
    if (!isWhole) await Promise.all([file.abandon(false), manifest.abandon(false)])
  }
}

async function write(
  ctx: Context,
  file: OutFile,
  subjects: readonly string[],
  pages: AsyncIterable<readonly Consent[]>,
  signing: Pick<ExportManifest, 'key_id' | 'subject_hmacs'>,
): Promise<ExportManifest> {
  const hash = createHash('sha256')
  const about = { instance: requireBaseUrl(ctx.settings), exported_at: new Date().toISOString() }
  let [bytes, records, entries] = [0, 0, 0]
  const add = async (text: string) => {
    hash.update(text)
    bytes += Buffer.byteLength(text)
    await file.write(text)
  }
  const sites = new Map<string | null, number>()
  const head = { type: 'subject_export', version: 1, ...about, subjects }
  await add(`${JSON.stringify(head).slice(0, -1)},"records":[`)
  for await (const page of pages) {
    for (const record of page) {
      const history = (await ctx.api.consents.history({ params: { id: record.id } })).data
      await add(`${records > 0 ? ',' : ''}\n${JSON.stringify({ ...record, history })}`)
      records += 1
      entries += history.length
      sites.set(record.site_id, (sites.get(record.site_id) ?? 0) + 1)
    }
  }
  await add('\n]}\n')
  const counts = [...sites].map(([site_id, count]) => ({ site_id, records: count }))
  return {
    type: 'export_manifest',
    version: 1,
    key_id: signing.key_id,
    ...about,
    profile: ctx.settings.profile.value,
    ...worker(),
    subject_hmacs: signing.subject_hmacs,
    sites: counts,
    records,
    entries,
    bytes,
    sha256: hash.digest('hex'),
  }
}
