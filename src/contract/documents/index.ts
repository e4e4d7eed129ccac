import type * as z from 'zod'
import { Checkpoint, CheckpointV1 } from './checkpoint.ts'
import { ConsentReceipt, ConsentReceiptV1, ConsentReceiptV2, ConsentReceiptV3 } from './consent-receipt.ts'
import { ErasureCertificate, ErasureCertificateV1 } from './erasure-certificate.ts'
import { ErasureReceipt, ErasureReceiptV1 } from './erasure-receipt.ts'
import { EvidencePack } from './evidence-pack.ts'
import { ExportManifest, ExportManifestV1 } from './export-manifest.ts'
import { ImportReceipt } from './import-receipt.ts'
import { PurgeCertificate } from './purge-certificate.ts'
import { KeyRevocation, SigningKeyStatement } from './signing-key.ts'

export interface DocumentKind {
  readonly title: string
  /** Versions 1, 2 …, without the signature. Only the last is written; all verify. */
  readonly schemas: readonly [z.ZodObject, ...z.ZodObject[]]
  /** Name of the field with the time of signing; that of a `purge` counts instead. */
  readonly issuedAt: string
  /** Owner of the key. */
  readonly signer: 'service' | 'profile'
}

/** JSON Schemas are generated from this. */
export const documents: Readonly<Record<string, DocumentKind>> = {
  checkpoint: {
    title: 'Checkpoint',
    schemas: [CheckpointV1, Checkpoint],
    issuedAt: 'created_at',
    signer: 'service',
  },
  consent_receipt: {
    title: 'Consent receipt',
    schemas: [ConsentReceiptV1, ConsentReceiptV2, ConsentReceiptV3, ConsentReceipt],
    issuedAt: 'issued_at',
    signer: 'service',
  },
  erasure_certificate: {
    title: 'Erasure certificate',
    schemas: [ErasureCertificateV1, ErasureCertificate],
    issuedAt: 'issued_at',
    signer: 'service',
  },
  erasure_receipt: {
    title: 'Erasure receipt',
    schemas: [ErasureReceiptV1, ErasureReceipt],
    issuedAt: 'finished_at',
    signer: 'profile',
  },
  import_receipt: {
    title: 'Import receipt',
    schemas: [ImportReceipt],
    issuedAt: 'finished_at',
    signer: 'profile',
  },
  purge_certificate: {
    title: 'Purge certificate',
    schemas: [PurgeCertificate],
    issuedAt: 'issued_at',
    signer: 'service',
  },
  export_manifest: {
    title: 'Export manifest',
    schemas: [ExportManifestV1, ExportManifest],
    issuedAt: 'exported_at',
    signer: 'profile',
  },
  evidence_pack: {
    title: 'Evidence pack',
    schemas: [EvidencePack],
    issuedAt: 'created_at',
    signer: 'profile',
  },
  signing_key: {
    title: 'Signing key',
    schemas: [SigningKeyStatement],
    issuedAt: 'not_before',
    signer: 'service',
  },
  key_revocation: {
    title: 'Key revocation',
    schemas: [KeyRevocation],
    issuedAt: 'revoked_at',
    signer: 'service',
  },
}
