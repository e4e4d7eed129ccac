import * as z from 'zod'
import { Duration } from '../contract/notices.ts'
import { type Retention, retentionStarts, SealedSetting } from '../contract/sites.ts'
import { usageError } from '../errors/errors.ts'

/** As typed: last-change for `last_change`. */
export const retentionEvents = retentionStarts.map(start => start.replace('_', '-'))

export const retentionOptions = { retain: z.string().optional(), after: z.string().optional() }

interface Options {
  readonly retain?: string | undefined
  readonly after?: string | undefined
}

/** @throws CliError (usage) */
export function readRetention({ retain, after }: Options): Retention | undefined {
  if (retain === undefined && after === undefined) return undefined
  if (retain === undefined || after === undefined)
    throw usageError('--retain and --after need each other', 'use --retain 3y --after withdrawal')
  return { period: readDuration(retain), after: after.replace('-', '_') as Retention['after'] }
}

export const sealOptions = {
  sealProof: z.union([z.string(), z.literal(false)]).optional(),
  basis: z.string().optional(),
}

interface SealOptions {
  readonly sealProof?: string | false | undefined
  readonly basis?: string | undefined
}

/** Null turns it off. @throws CliError (usage) */
export function readSeal({ sealProof, basis }: SealOptions): SealedSetting | null | undefined {
  if (sealProof === false && basis === undefined) return null
  if (sealProof === undefined && basis === undefined) return undefined
  if (!sealProof || basis === undefined)
    throw usageError('--seal-proof and --basis need each other', "use --seal-proof 10y --basis 'GDPR Art. 17(3)(e)'")
  const setting = { basis, period: readDuration(sealProof) }
  if (SealedSetting.safeParse(setting).success) return setting
  throw usageError('--basis must have from 1 to 200 characters')
}

/** Converts 3y, 18m or 90d to ISO 8601: months of the calendar. @throws CliError (usage) */
export function readDuration(text: string): string {
  const duration = /^\d{1,5}[dwmy]$/.test(text) ? `P${text.toUpperCase()}` : text
  if (Duration.safeParse(duration).success) return duration
  throw usageError(`invalid period "${text}"`, 'use 3y, 18m, 90d, or an ISO 8601 duration such as P1Y6M')
}
