import * as z from 'zod'
import { Sha256 } from './fields.ts'

const Count = z.int().min(0)

export const ExportManifest = z.strictObject({
  type: z.literal('export_manifest'),
  version: z.literal(1),
  key_id: z.string().describe('The signing key, by its thumbprint (RFC 7638).'),
  instance: z.string().describe('The base address of the service.'),
  profile: z.string(),
  who: z.string().describe('The user of the operating system.'),
  host: z.string(),
  exported_at: z.iso.datetime(),
  account_id: z
    .string()
    .nullable()
    .describe('The account whose records these are, as reported by the service; null if not reported.'),
  api_key_id: z
    .string()
    .nullable()
    .describe('The API key that they were read with, as reported by the service; null if not reported.'),
  subject_hmacs: z.array(Sha256).min(1),
  sites: z.array(z.strictObject({ site_id: z.string().nullable(), records: Count })),
  records: Count,
  entries: Count.describe('Of the histories of all records.'),
  bytes: Count,
  sha256: Sha256,
})
export type ExportManifest = z.output<typeof ExportManifest>
