import type * as z from 'zod'
import { Checkpoint } from './checkpoint.ts'
import { ConsentReceipt } from './consent-receipt.ts'
import { ErasureCertificate } from './erasure-certificate.ts'
import { ErasureReceipt } from './erasure-receipt.ts'
import { ExportManifest } from './export-manifest.ts'

export interface DocumentKind {
  readonly title: string
  readonly version: number
  /** Without the signature. */
  readonly schema: z.ZodObject
  /** The field with its time of signing. */
  readonly issuedAt: string
  /** The service's published key, or that of a profile of the command line. */
  readonly signer: 'service' | 'profile'
}

/** By `type`. Their JSON Schemas are generated. */
export const documents: Readonly<Record<string, DocumentKind>> = {
  checkpoint: {
    title: 'Checkpoint',
    version: 1,
    schema: Checkpoint,
    issuedAt: 'created_at',
    signer: 'service',
  },
  consent_receipt: {
    title: 'Consent receipt',
    version: 1,
    schema: ConsentReceipt,
    issuedAt: 'issued_at',
    signer: 'service',
  },
  erasure_certificate: {
    title: 'Erasure certificate',
    version: 1,
    schema: ErasureCertificate,
    issuedAt: 'issued_at',
    signer: 'service',
  },
  erasure_receipt: {
    title: 'Erasure receipt',
    version: 1,
    schema: ErasureReceipt,
    issuedAt: 'finished_at',
    signer: 'profile',
  },
  export_manifest: {
    title: 'Export manifest',
    version: 1,
    schema: ExportManifest,
    issuedAt: 'exported_at',
    signer: 'profile',
  },
}
