import { join } from 'node:path'
import * as z from 'zod'
import type { Context } from '../context.ts'
import { type HeldJob, type Jobs, jobsOf } from '../jobs/jobs.ts'
import { commandForOrigin } from '../settings/settings.ts'
import type { ErasureHeader } from './job.ts'
import type { Target } from './records.ts'

/** People of a file. Each person's job starts in turn. */
const BatchHeader = z.object({
  version: z.literal(1),
  job: z.string(),
  profile: z.string(),
  base_url: z.string(),
  file: z.string(),
  people: z.int().min(1),
  started_at: z.string(),
})
export type BatchHeader = z.output<typeof BatchHeader>

/** p: one person's plan. P: plan complete, erasing may begin. d: this job has its receipt. */
export type BatchEvent = readonly ['p', person: PlannedPerson] | readonly ['P'] | readonly ['d', job: string]

export interface PlannedPerson {
  readonly header: ErasureHeader
  readonly targets: readonly Target[]
}

export interface Batch {
  readonly held: HeldJob<BatchHeader, BatchEvent>
  readonly people: readonly PlannedPerson[]
  readonly done: Set<string>
}

export function erasureBatches({ settings, host }: Pick<Context, 'settings' | 'host'>): Jobs<BatchHeader, BatchEvent> {
  return jobsOf<BatchHeader, BatchEvent>({
    folder: join(settings.stateFolder, 'erasure-batches'),
    header: BatchHeader,
    host,
    elsewhere: header => commandForOrigin(settings, header, `consentctl subject resume ${header.job}`),
    hints: {
      damaged: 'consentctl subject receipts shows who was erased; erase the others from a file of their own',
      unwritable: 'CONSENTCTL_STATE_DIR names a folder that can be written',
    },
  })
}

/** Erasing begins once all plans are on disk. */
export async function createBatch(
  ctx: Pick<Context, 'settings' | 'host'>,
  header: BatchHeader,
  people: readonly PlannedPerson[],
): Promise<Batch> {
  const held = await erasureBatches(ctx).create(header)
  try {
    for (const person of people) await held.append(['p', person])
    await held.append(['P'])
  } catch (error) {
    await held.close(true)
    throw error
  }
  return { held, people, done: new Set() }
}

/** Removes a batch without a complete plan, and returns null. */
export async function resumeBatch(ctx: Pick<Context, 'settings' | 'host'>, job: string): Promise<Batch | null> {
  const held = await erasureBatches(ctx).resume(job)
  const people: PlannedPerson[] = []
  const done = new Set<string>()
  let isPlanned = false
  for (const run of held.earlierRuns)
    for await (const event of run()) {
      if (event[0] === 'p') people.push(event[1])
      else if (event[0] === 'd') done.add(event[1])
      else isPlanned = true
    }
  if (isPlanned) return { held, people, done }
  await held.close(true)
  return null
}

/** Those that no process holds. */
export async function unfinishedBatches(ctx: Pick<Context, 'settings' | 'host'>): Promise<BatchHeader[]> {
  const batches = erasureBatches(ctx)
  const headers: BatchHeader[] = []
  for (const job of await batches.list()) {
    const header = await batches.readHeader(job).catch(() => null)
    if (header?.profile === ctx.settings.profile.value) headers.push(header)
  }
  return headers
}
