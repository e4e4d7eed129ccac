import { createHash } from 'node:crypto'
import { resolve } from 'node:path'
import { formatCount, instanceLabel, quoteForShell } from '../../cli/messages.ts'
import { siteIdOf } from '../../cli/sites.ts'
import { durationMs, pastInstant } from '../../cli/time.ts'
import type { Context } from '../../context.ts'
import { type CheckedMany, checkLimit, checkMany } from '../../contract/check.ts'
import { parseInstant } from '../../contract/instant.ts'
import { CliError, exit, usageError } from '../../errors/errors.ts'
import { mapInOrder } from '../../io/concurrency.ts'
import { inGroups } from '../../io/groups.ts'
import { limitHeapGrowth } from '../../io/memory.ts'
import { type OutFile, openOutFile } from '../../io/new-file.ts'
import { openSigner } from '../../receipts/signer.ts'
import { GateCounts, type GateQuestion, readLastCheckpoint, signGateReceipt } from './gate-receipt.ts'
import { type List, type ListLine, type ListOptions, openList } from './list-lines.ts'

export interface GateOptions extends ListOptions {
  readonly purpose: string
  readonly site?: string | undefined
  readonly at?: string | undefined
  readonly onlyWitnessed?: true | undefined
  readonly unknown?: 'stop' | 'allow' | undefined
  readonly stoppedOut?: string | undefined
  readonly receiptOut?: string | undefined
  readonly validFor?: string | undefined
}

const defaultValidity = '24h'

const concurrency = 4

/** Of the lines, and of their identifiers as JSON at its longest: a request is smaller than 1 MiB. */
const maxGroupBytes = 800_000

/** Lines and near matches that are named on stderr. */
const longestList = 10

/** Writes the lines of those who consent to `out`. `-` is stdout. */
export async function checkList(ctx: Context, options: GateOptions, out: string): Promise<void> {
  requirePaths(options, out)
  ctx.useJsonMessages()
  const validForMs = durationMs(options.validFor ?? defaultValidity)
  const at = options.at === undefined ? undefined : toMilliseconds(pastInstant(options.at, new Date()))
  if (at !== undefined && ctx.globals.verbose) await ctx.warn(`* --at ${at}`)
  limitHeapGrowth()
  const list = await openList(ctx, options)
  const outputs = new Outputs()
  try {
    const sinks = await outputs.open(ctx, options, out)
    await requireOffered(ctx)
    const siteId = options.site === undefined ? undefined : await siteIdOf(ctx, options.site)
    const { purpose, onlyWitnessed = false, unknown = 'stop' } = options
    const question = { purpose, siteId, at, onlyWitnessed, unknown }
    const signer = options.receiptOut === undefined ? null : await openSigner(ctx)
    const checkpoint = signer && (await readLastCheckpoint(ctx))
    const counts = await filter(ctx, { list, question, sinks })
    const read = { ...list.digest(), lines: counts.linesOf(true) + counts.linesOf(false) }
    const written = (sink: Sink, isAllowed: boolean) => ({ ...sink.digest(), lines: counts.linesOf(isAllowed) })
    const files = { list: read, allowed: written(sinks.allowed, true), stopped: written(sinks.stopped, false) }
    if (signer)
      await outputs.receipt?.write(signGateReceipt(signer, { question, counts, checkpoint, files, validForMs }))
    await outputs.commit()
    await tellResult(ctx, counts, purpose)
    ctx.exit = counts.notTold > 0 ? exit.partial : counts.linesOf(false) > 0 ? exit.no : exit.done
  } finally {
    await outputs.abandon()
    await list.close()
  }
}

function requirePaths({ file, stoppedOut, receiptOut, validFor }: GateOptions, out: string): void {
  if (validFor !== undefined && receiptOut === undefined)
    throw usageError('--valid-for requires --receipt-out', 'add --receipt-out FILE')
  const paths = [file, out, stoppedOut, receiptOut].filter(path => path !== undefined && path !== '-').map(String)
  if (new Set(paths.map(path => resolve(path))).size < paths.length)
    throw usageError('--file, --out, --stopped-out and --receipt-out must be different files')
}

async function requireOffered(ctx: Context): Promise<void> {
  if (await ctx.api.supports(checkMany)) return
  throw new CliError('not_offered', exit.usage, `${instanceLabel(ctx)} cannot check lists, so nothing was sent`, {
    hint: 'consentctl check ID --purpose NAME may be offered; consentctl list --subject ID shows the records',
  })
}

interface Sink {
  write(bytes: Uint8Array): Promise<void>
  digest(): { readonly sha256: string; readonly bytes: number }
}

/** The files appear together at the end, that of the allowed lines last. */
class Outputs {
  receipt: OutFile | undefined
  readonly #files: OutFile[] = []

  /** @throws CliError usage (exit 2) if a file exists */
  async open(ctx: Context, { stoppedOut, receiptOut }: GateOptions, out: string) {
    const open = async (path: string, flag: string) => {
      const file = await openOutFile(path, flag, ctx.globals.force)
      this.#files.push(file)
      return file
    }
    const stopped = stoppedOut === undefined ? null : await open(stoppedOut, '--stopped-out')
    this.receipt = receiptOut === undefined ? undefined : await open(receiptOut, '--receipt-out')
    const allowed = out === '-' ? standardOutput(ctx) : await open(out, '--out')
    return { allowed: hashing(allowed), stopped: hashing(stopped) }
  }

  async commit(): Promise<void> {
    for (; this.#files[0]; this.#files.shift()) await this.#files[0].commit()
  }

  async abandon(): Promise<void> {
    await Promise.all(this.#files.map(file => file.abandon(false)))
  }
}

function standardOutput({ io }: Context): Pick<OutFile, 'write'> {
  return {
    write: async bytes => {
      await io.out.write(bytes)
      if (io.out.closed) throw new CliError('io', exit.failure, 'standard output was closed before the end of the list')
    },
  }
}

/** Hashes also what is not written. */
function hashing(target: Pick<OutFile, 'write'> | null): Sink {
  const hash = createHash('sha256')
  let bytes = 0
  return {
    write: async content => {
      hash.update(content)
      bytes += content.length
      await target?.write(content)
    },
    digest: () => ({ sha256: hash.digest('hex'), bytes }),
  }
}

async function filter(
  ctx: Context,
  { list, question, sinks }: { list: List; question: GateQuestion; sinks: Awaited<ReturnType<Outputs['open']>> },
): Promise<GateCounts> {
  const counts = new GateCounts()
  const bytesOf = ({ raw, subject }: ListLine) => raw.length + 6 * subject.length
  const groups = inGroups(list.pages(), bytesOf, async () => ({ items: checkLimit, bytes: maxGroupBytes }))
  let isBegun = false
  for await (const { rows, at } of mapInOrder(groups, { concurrency }, lines => ask(ctx, question, lines))) {
    ctx.interruption.throwIfAborted()
    if (!isBegun) for (const sink of [sinks.allowed, sinks.stopped]) await sink.write(list.header())
    isBegun = true
    if (at !== null) counts.addTime(toMilliseconds(at))
    const [allowed, stopped]: [Uint8Array[], Uint8Array[]] = [[], []]
    for (const row of rows) {
      await tellRow(ctx, counts, row)
      const lines = counts.add(row.answer, question.unknown) ? allowed : stopped
      lines.push(row.line.raw)
    }
    await sinks.allowed.write(Buffer.concat(allowed))
    await sinks.stopped.write(Buffer.concat(stopped))
  }
  ctx.interruption.throwIfAborted()
  if (counts.reasons().length > 0) return counts
  throw new CliError('empty', exit.rejected, `${list.name} has no line to check: nothing was written`)
}

interface Row {
  readonly line: ListLine
  /** Null for a line without an identifier. */
  readonly answer: CheckedMany['answers'][number] | null
}

/** `at`: what the answers are about; null if no line has an identifier. */
async function ask(
  ctx: Context,
  question: GateQuestion,
  lines: readonly ListLine[],
): Promise<{ readonly rows: readonly Row[]; readonly at: string | null }> {
  ctx.interruption.throwIfAborted()
  const subject_ids = lines.filter(({ problem }) => problem === null).map(({ subject }) => subject)
  if (subject_ids.length === 0) return { rows: lines.map(line => ({ line, answer: null })), at: null }
  const { purpose, siteId: site_id, at, onlyWitnessed } = question
  const body = { subject_ids, purpose, site_id, at, near_matches: true, ...(onlyWitnessed && { only_witnessed: true }) }
  const response = await ctx.api.call(checkMany, { body })
  const { length } = response.answers
  if (length !== subject_ids.length) {
    const message = `${instanceLabel(ctx)} returned ${length} answers for ${subject_ids.length} persons`
    throw new CliError('unexpected_answer', exit.usage, message)
  }
  const answers = response.answers.values()
  const rows = lines.map(line => ({ line, answer: line.problem === null ? (answers.next().value ?? null) : null }))
  return { rows, at: response.at }
}

async function tellRow({ warn }: Context, counts: GateCounts, { line, answer }: Row): Promise<void> {
  const { number, subject, problem } = line
  if (problem !== null && counts.notTold < longestList) await warn(`line ${number} ${problem}`)
  const near = answer?.near_matches
  if (!near || counts.nearMatches >= longestList) return
  const others = near.map(quoteForShell).join(', ')
  await warn(`no record of ${quoteForShell(subject)}, near ${near.length === 1 ? 'match' : 'matches'}: ${others}`)
}

async function tellResult({ say, warn }: Context, counts: GateCounts, purpose: string): Promise<void> {
  if (counts.notTold > longestList) await warn(`other lines that could not be told: ${counts.notTold - longestList}`)
  if (counts.nearMatches > longestList) await warn(`near matches not shown: ${counts.nearMatches - longestList}`)
  if (counts.nearMatches > 0)
    await warn(`${formatCount(counts.nearMatches, 'line')} with near matches: treated as unknown, never as a match`)
  if (counts.isPurposeUnknown)
    await warn(
      `no record of the list consents or consented to ${quoteForShell(purpose)}: check the spelling of --purpose`,
    )
  for (const isAllowed of [true, false]) {
    const of = counts.reasons().filter(({ allowed }) => allowed === isAllowed)
    const reasons = of.map(({ reason, lines }) => `${lines} ${reason}`).join(', ')
    const count = formatCount(counts.linesOf(isAllowed), 'line')
    await say(`${isAllowed ? 'allowed' : 'stopped'} ${count}${reasons && `: ${reasons}`}`)
  }
}

/** Of a valid instant, in UTC. */
function toMilliseconds(instant: string): string {
  return new Date(parseInstant(instant) ?? 0).toISOString()
}
