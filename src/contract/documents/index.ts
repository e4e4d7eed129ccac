import type * as z from 'zod'
import { Checkpoint } from './checkpoint.ts'
import { ConsentReceipt } from './consent-receipt.ts'
import { ErasureCertificate } from './erasure-certificate.ts'
import { ErasureReceipt } from './erasure-receipt.ts'
import { EvidencePack } from './evidence-pack.ts'
import { ExportManifest } from './export-manifest.ts'
import { GateReceipt } from './gate-receipt.ts'
import { ImportReceipt } from './import-receipt.ts'
import { PurgeCertificate } from './purge-certificate.ts'
import { KeyRevocation, SigningKeyStatement } from './signing-key.ts'
import { WithdrawalReceipt } from './withdrawal-receipt.ts'

export interface DocumentKind {
  /** Content without the signature. */
  readonly schema: z.ZodObject
  /** Field with the signing time; that of a `purge` takes precedence. */
  readonly issuedAt: string
  readonly signer: 'service' | 'profile'
}

/** Schemas by document type. JSON Schemas are generated from this. */
export const documents: Readonly<Record<string, DocumentKind>> = {
  checkpoint: { schema: Checkpoint, issuedAt: 'created_at', signer: 'service' },
  consent_receipt: { schema: ConsentReceipt, issuedAt: 'issued_at', signer: 'service' },
  erasure_certificate: { schema: ErasureCertificate, issuedAt: 'issued_at', signer: 'service' },
  erasure_receipt: { schema: ErasureReceipt, issuedAt: 'finished_at', signer: 'profile' },
  withdrawal_receipt: { schema: WithdrawalReceipt, issuedAt: 'finished_at', signer: 'profile' },
  import_receipt: { schema: ImportReceipt, issuedAt: 'finished_at', signer: 'profile' },
  gate_receipt: { schema: GateReceipt, issuedAt: 'created_at', signer: 'profile' },
  purge_certificate: { schema: PurgeCertificate, issuedAt: 'issued_at', signer: 'service' },
  export_manifest: { schema: ExportManifest, issuedAt: 'exported_at', signer: 'profile' },
  evidence_pack: { schema: EvidencePack, issuedAt: 'created_at', signer: 'service' },
  signing_key: { schema: SigningKeyStatement, issuedAt: 'not_before', signer: 'service' },
  key_revocation: { schema: KeyRevocation, issuedAt: 'revoked_at', signer: 'service' },
}
