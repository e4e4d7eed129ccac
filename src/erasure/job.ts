import { join } from 'node:path'
import * as z from 'zod'
import type { Context } from '../context.ts'
import type { ErasedRecord, ErasureReceipt } from '../contract/documents/erasure-receipt.ts'
import type { TurnedOffRecord } from '../contract/documents/withdrawal-receipt.ts'
import { CliError, exit } from '../errors/errors.ts'
import { type HeldJob, type Jobs, jobsOf } from '../jobs/jobs.ts'
import type { Identity } from '../receipts/signer.ts'
import { commandForOrigin } from '../settings/settings.ts'
import { findHolding, findStates, type Target } from './records.ts'
import { apply, type ErasureEvent, type ErasureOrder, type ErasureRun, type ErasureState, newState } from './state.ts'

export interface SubjectRequest extends Omit<ErasureOrder, 'started_at'> {
  /** For example `2026-01-31`. */
  readonly received_at: string | null
  /** From the register; null to compute it. */
  readonly due_at?: string | null | undefined
  /** In the register, which gets the receipt's digest. */
  readonly request_id?: string | null | undefined
}

/** The plan, including what the receipt states about its preparation. */
export type Person = SubjectRequest & Pick<ErasureReceipt, 'planned_by' | 'plan_sha256' | 'export_sha256'>

/** Of an erasure or a withdrawal. */
export type DoneRecord = ErasedRecord | TurnedOffRecord

export type PersonState<Done extends DoneRecord = DoneRecord> = ErasureState<Person & ErasureOrder, Done>

/** The entries contain the identifiers in clear text: only the owner may read the file. */
const ErasureHeader = z.object({
  version: z.literal(1),
  job: z.string(),
  profile: z.string(),
  base_url: z.string(),
  /** Null if unknown. */
  account_id: z.string().nullable(),
  /** The file, or another origin of several people; null for one person. */
  source: z.string().nullable(),
  sha256: z.string().optional(),
  who: z.string(),
  host: z.string(),
  shows_subject: z.boolean(),
  started_at: z.string(),
  /** That the job was started with; absent for an erasure, null if unknown. */
  api_key_id: z.string().nullable().optional(),
  /** What a withdrawal turns off; absent for an erasure. */
  withdrawal: z.object({ purposes: z.array(z.string()), site_id: z.string().nullable() }).optional(),
})
export type ErasureHeader = z.output<typeof ErasureHeader>

/** p: a person. P: plan complete, the records may be deleted or changed. e: an event of the person with this index. r: has the receipt. */
export type ErasureEntry =
  | readonly ['p', person: Person]
  | readonly ['P']
  | readonly ['e', index: number, event: ErasureEvent<DoneRecord>]
  | readonly ['r', index: number]

export interface ErasureJob {
  readonly ctx: Context
  readonly held: HeldJob<ErasureHeader, ErasureEntry>
  readonly people: readonly PersonState[]
  /** Receipt on disk and in the register. */
  readonly done: Set<PersonState>
}

export function erasureJobs({ settings, host }: Pick<Context, 'settings' | 'host'>): Jobs<ErasureHeader, ErasureEntry> {
  return jobsOf<ErasureHeader, ErasureEntry>({
    folder: join(settings.stateFolder, 'erasures'),
    header: ErasureHeader,
    host,
    elsewhere: header => commandForOrigin(settings, header, resumeCommandOf(header)),
    hints: {
      damaged: 'consentctl subject receipts shows who was erased; erase the others with consentctl subject erase',
      unwritable: 'set CONSENTCTL_STATE_DIR to a folder that can be written',
    },
  })
}

export function resumeCommandOf({ job }: Pick<ErasureHeader, 'job'>): string {
  return `consentctl subject resume ${job}`
}

export interface PlannedPerson {
  readonly person: Person
  readonly targets: readonly Target[]
}

/** The whole plan is on disk before anything is done; a job that was killed before that is discarded. */
export async function createJob(
  ctx: Context,
  header: ErasureHeader,
  planned: readonly PlannedPerson[],
): Promise<ErasureJob> {
  const held = await erasureJobs(ctx).create(header)
  const reader = newReader(header)
  try {
    const append = async (entry: ErasureEntry) => {
      reader.read(entry)
      await held.append(entry)
    }
    for (const [index, { person, targets }] of planned.entries())
      await Promise.all([append(['p', person]), ...targets.map(target => append(['e', index, ['t', target]]))])
    await append(['P'])
  } catch (error) {
    await held.close(true)
    throw error
  }
  return { ctx, held, ...reader }
}

function newReader({ started_at }: ErasureHeader) {
  const people: PersonState[] = []
  const done = new Set<PersonState>()
  let isPlanned = false
  const read = (entry: ErasureEntry) => {
    const person = people[Number(entry[1])]
    if (entry[0] === 'p') people.push(newState({ ...entry[1], started_at }))
    else if (entry[0] === 'P') isPlanned = true
    else if (person && entry[0] === 'e') apply(person, entry[2])
    else if (person) done.add(person)
  }
  return { people, done, read, isPlanned: () => isPlanned }
}

/** @throws CliError not_begun (exit 7) if its plan is not complete; the job is then removed */
export async function resumeJob(ctx: Context, job: string): Promise<ErasureJob> {
  const held = await erasureJobs(ctx).resume(job)
  const reader = newReader(held.header)
  try {
    for (const run of held.earlierRuns) for await (const entry of run()) reader.read(entry)
  } catch (error) {
    await held.close(false)
    throw error
  }
  if (reader.isPlanned()) return { ctx, held, ...reader }
  await held.close(true)
  throw new CliError('not_begun', exit.temporary, `the job ${job} was killed before anything was done`, {
    hint: `run consentctl ${held.header.withdrawal ? 'withdraw' : 'subject erase'} again`,
  })
}

export function runOf<Done extends DoneRecord>(
  { ctx, held, people }: ErasureJob,
  state: PersonState<Done>,
): ErasureRun<Done> {
  const index = people.indexOf(state as PersonState)
  return {
    api: ctx.api,
    state,
    record: async event => {
      await held.append(['e', index, event])
      apply(state, event)
    },
  }
}

export async function recordDone({ held, people, done }: ErasureJob, state: PersonState): Promise<void> {
  await held.append(['r', people.indexOf(state)])
  done.add(state)
}

interface UnfinishedJob extends ErasureHeader {
  readonly people: readonly Person[]
}

/** Those that no process holds. */
export async function unfinishedJobs(ctx: Pick<Context, 'settings' | 'host'>): Promise<UnfinishedJob[]> {
  const jobs = erasureJobs(ctx)
  const unfinished: UnfinishedJob[] = []
  for (const job of await jobs.list()) {
    const header = await jobs.readHeader(job).catch(() => null) // held by another process, or just finished
    if (header?.profile !== ctx.settings.profile.value) continue
    const people: Person[] = []
    try {
      for (const run of await jobs.runs(job))
        for await (const entry of run()) if (entry[0] === 'p') people.push(entry[1])
    } catch {
      // A damaged job is reported when it is resumed.
    }
    unfinished.push({ ...header, people })
  }
  return unfinished
}

/**
 * A resumed job needs its account: another account's key sees all its records as gone. If the instance names no
 * account, the key must see one of the records. @throws CliError other_account (exit 10)
 */
export async function requireSameAccount(
  { ctx, held, people, done }: ErasureJob,
  { account_id }: Identity,
): Promise<void> {
  const { header } = held
  const isKnown = header.account_id !== null && account_id !== null
  const state = people.find(each => !done.has(each) && each.targets.size > 0)
  const isSame = isKnown ? header.account_id === account_id : !state || (await seesAny(ctx.api, state))
  if (isSame) return
  const why = isKnown
    ? `the key is of the account ${account_id}, and the job of ${header.account_id}`
    : 'the key sees none of the job’s records, live or deleted'
  throw new CliError('other_account', exit.changed, `${why}: nothing was done`, {
    hint: 'resume it with a key of the account that it was started with',
  })
}

/** Checks live records first, which takes fewer requests. */
async function seesAny(api: Context['api'], { order, targets }: PersonState): Promise<boolean> {
  const { live } = await findHolding(api, order.subjects)
  if (live.some(({ id }) => targets.has(id))) return true
  for (const id of targets.keys()) if ((await findStates(api, [id])).get(id) !== 'unknown') return true
  return false
}
