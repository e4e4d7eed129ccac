import type { Command } from 'commander'
import * as z from 'zod'
import { action, Count, nonEmpty } from '../../cli/action.ts'
import { addSelectionFlags, readStart, selectEvents, selectionOptions } from '../../cli/event-selection.ts'
import { follow, type Start } from '../../cli/follow.ts'
import { many } from '../../cli/output.ts'
import type { Context } from '../../context.ts'
import type { Event } from '../../contract/events.ts'
import { usageError } from '../../errors/errors.ts'
import { MerkleTree } from '../../evidence/merkle.ts'
import { limitHeapGrowth } from '../../io/memory.ts'
import { identify, requireEverySite } from '../../receipts/signer.ts'
import { requireBaseUrl } from '../../settings/settings.ts'
import { eventView } from '../../views/event.ts'
import { openPlace, type Place, writePlace } from './place.ts'
import { Proof, treeUpTo } from './proof.ts'
import { runForEvents } from './run.ts'

const Options = z.strictObject({
  ...selectionOptions,
  state: nonEmpty.optional(),
  exec: nonEmpty.optional(),
  concurrency: Count.optional(),
  verify: z.literal(true).optional(),
  once: z.literal(true).optional(),
})
type Options = z.output<typeof Options>

export function watch(command: Command, ctx: Context): void {
  addSelectionFlags(command)
    .option('--state <file>', 'begin behind the position in this file, and keep it up to date')
    .option('--exec <command>', 'run this shell command for each event, which it gets on stdin, instead of printing it')
    .option('--concurrency <n>', 'run at most n commands at once, never two of a record (default: 1)')
    .option('--verify', 'compare all events with signed checkpoints of the log')
    .option('--once', 'end when there is no further event, instead of waiting')
    .description(`
Prints what happens to records as it happens, until it is interrupted: created, imported, updated, withdrawn, deleted,
erased, restored, purged, and account.… for changes of settings. Begins now, without --after, --from or a file of
--state. An event has the purposes that changed and no identifier of a person; "consentctl get" has the record. An
expiry is no event: consentctl list --expired.

Every change has a position, without gaps. With --state, nothing is missed between two runs; what was printed last may
come again after a crash. A lost connection is made again. Ctrl-C and SIGTERM end it with 0, a command of --exec that
fails with 8, and a log that lost events with 5. --verify needs a key of every site, and ends it with 5 for a gap or a
change of the past.

Examples:
  $ consentctl watch --type withdrawn --type erased -o ndjson
  $ consentctl watch --state feed.json --exec './forward.sh'
  $ consentctl watch --from 7d --once -o csv`)
    .action(action(ctx, Options, eventView, async (_, options) => many(eventView, pages(ctx, options))))
}

async function* pages(ctx: Context, options: Options): AsyncGenerator<readonly Event[]> {
  const { state, exec: shell, concurrency, once } = options
  requireConsistent(options, ctx.globals.out)
  limitHeapGrowth()
  const { account_id, site_ids } = await identify(ctx.api)
  if (options.verify) requireEverySite({ site_ids })
  const of = { instance: requireBaseUrl(ctx.settings), account_id }
  const kept = state === undefined ? null : await openPlace(state, of)
  const start = chooseStart(options, kept)
  const keep = async (after: number | null) => {
    if (state !== undefined) await writePlace(state, { ...of, after, ...(proof && { tree: proof.tree }) })
  }
  const run = { concurrency: concurrency ?? 1, keep, interruption: ctx.interruption }
  let proof: Proof | null = null
  for await (const { data, next_after } of follow(ctx, { ...start, isOnce: once === true })) {
    if (options.verify) proof = await prove(ctx, proof ?? kept, data, next_after)
    const wanted = selectEvents(data, start, options.type)
    if (shell === undefined) {
      if (wanted.length > 0) yield wanted
    } else if (!(await runForEvents(wanted, { ...run, command: shell }))) return
    await keep(next_after)
  }
}

/** The file of `--out` appears only at the end, when the position is kept for long. */
function requireConsistent({ state, exec: shell, concurrency }: Options, out: string | undefined): void {
  if (concurrency !== undefined && shell === undefined) throw usageError('--concurrency requires --exec')
  if (state !== undefined && out !== undefined) throw usageError('--state cannot be combined with --out')
}

function chooseStart({ after, from, state }: Options, kept: Place | null): Start {
  const start = readStart({ after, from })
  if (kept && (after !== undefined || from !== undefined))
    throw usageError(`${state} has a position: remove ${after === undefined ? '--from' : '--after'}, or the file`)
  if (!kept) return start
  return kept.after === null ? {} : { after: kept.after }
}

/** Of the first page it begins with the tree that was kept, or with the proof of the event before the page. */
async function prove(
  ctx: Context,
  before: Proof | Place | null,
  page: readonly Event[],
  next: number | null,
): Promise<Proof> {
  const proof = before instanceof Proof ? before : await openProof(ctx, before, page[0] ? page[0].position - 1 : next)
  await proof.add(page)
  return proof
}

/** `after`: null, or below 0, if the events begin with the first. */
async function openProof(ctx: Context, kept: Place | null, after: number | null): Promise<Proof> {
  const { tree } = kept ?? {}
  const isOfPlace = tree !== undefined && tree.size === (kept?.after ?? -1) + 1
  if (isOfPlace) return new Proof(ctx, new MerkleTree(tree.size, Buffer.from(tree.frontier, 'hex')))
  return new Proof(ctx, await treeUpTo(ctx, after === null || after < 0 ? null : after))
}
