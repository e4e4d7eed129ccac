import type { EvidencePack } from '../../contract/documents/evidence-pack.ts'
import { sha256 } from '../../evidence/bytes.ts'
import { publicPem } from '../../evidence/keys.ts'
import { listFiles, readPack } from '../../evidence/pack.ts'
import { formatSums, listFile, sumsFile } from '../../evidence/pack-names.ts'
import { signDocument } from '../../evidence/signed.ts'
import type { Collected } from '../../packs/content.ts'
import { formatPackPage } from '../../packs/page.ts'
import { formatReadme } from '../../packs/readme.ts'
import type { Signer } from '../../receipts/signer.ts'

/** Adds explanations and the signed file list. @throws NotValid */
export function sealPack(signer: Signer, collected: Collected): Map<string, Buffer> {
  const { instance, profile, who, host, key } = signer
  const files = new Map([...collected].map(([name, content]) => [name, Buffer.from(content as string)]))
  const pack = readPack(files)
  const about = { instance, created_at: new Date().toISOString() }
  const origin = { ...about, isSealed: true }
  files.set('profile-key.pem', Buffer.from(publicPem(key.key)))
  files.set('README.txt', Buffer.from(formatReadme(pack, origin)))
  files.set('index.html', Buffer.from(formatPackPage(pack, origin)))
  const list: EvidencePack = {
    type: 'evidence_pack',
    version: 1,
    key_id: key.id,
    ...about,
    profile,
    who,
    host,
    account_id: pack.checkpoint.account_id,
    record_id: pack.record.id,
    files: listFiles(files),
  }
  const text = Buffer.from(signDocument(list, key.key))
  files.set(listFile, text)
  files.set(
    sumsFile,
    Buffer.from(formatSums([...list.files, { name: listFile, sha256: sha256(text).toString('hex') }])),
  )
  return files
}
