import type { EvidencePack } from '../../contract/documents/evidence-pack.ts'
import { publicPem } from '../../evidence/keys.ts'
import { formatSums, listFile, listFiles, type PackFiles, readPack, sumsFile } from '../../evidence/pack.ts'
import { signDocument } from '../../evidence/signed.ts'
import type { Signer } from '../../receipts/signer.ts'
import { formatPackPage } from './page.ts'
import { formatReadme } from './readme.ts'

/** Adds the explanations, and the signed list of all files. @throws NotValid */
export function sealPack(signer: Signer, collected: PackFiles): Map<string, Buffer> {
  const { instance, profile, who, host, key } = signer
  const pack = readPack(collected)
  const about = { instance, created_at: new Date().toISOString() }
  const files = new Map(collected)
  files.set('profile-key.pem', Buffer.from(publicPem(key.key)))
  files.set('README.txt', Buffer.from(formatReadme(pack, about)))
  files.set('index.html', Buffer.from(formatPackPage(pack, about)))
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
  files.set(sumsFile, Buffer.from(formatSums(list.files, text)))
  return files
}
