import type { EvidencePack } from '../../src/contract/documents/evidence-pack.ts'
import { certificateOf } from '../../src/evidence/certificate.ts'
import { formatCertificate } from '../../src/evidence/certificate-page.ts'
import type { Pack } from '../../src/evidence/pack.ts'
import { formatReadme } from './readme.ts'
import { formatScript } from './script.ts'

interface Sealing extends Pick<EvidencePack, 'created_at' | 'presented'> {
  readonly keyId: string
  /** Older entries of `administration/` were left out. */
  readonly isTruncated: boolean
}

/** The files that are made of the others. */
export function describePack(
  pack: Pack,
  { created_at: createdAt, keyId, isTruncated, presented }: Sealing,
): [name: string, text: string][] {
  return [
    ['certificate.html', formatCertificate(certificateOf(pack, { createdAt, keyId, ...(presented && { presented }) }))],
    ['README.txt', formatReadme(pack, { isTruncated })],
    ['verify.sh', formatScript(pack, keyId)],
  ]
}
