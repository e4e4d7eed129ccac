import { callOptional, instanceLabel } from '../../cli/messages.ts'
import type { Context } from '../../context.ts'
import { log } from '../../contract/log.ts'
import { CliError, exit } from '../../errors/errors.ts'
import type { FindKeys, Newest } from '../../evidence/document.ts'
import { findCheckpointProblem } from '../../evidence/key-chain.ts'
import { isConsistent, toBytes } from '../../evidence/proofs.ts'
import { readCheckpoint, type SignedCheckpoint, toSide } from '../../evidence/signed.ts'

/** @throws CliError if the instance has no log, or its response is unusable */
export async function readNewest(ctx: Context, findKeys: FindKeys, hint: string): Promise<Newest> {
  const without = { message: `${instanceLabel(ctx)} has no log`, hint }
  const text = await callOptional(ctx.api, log.checkpoint, () => ctx.api.text(log.checkpoint, {}), without)
  const newest = parse(ctx, text)
  const problem = findCheckpointProblem(newest, (await findKeys('service')).byId)
  return {
    ...newest,
    findGrowthProblem: async earlier =>
      problem ? `the newest checkpoint ${problem}` : await findGrowthProblem(ctx, earlier, newest),
  }
}

function parse(ctx: Context, text: string): SignedCheckpoint {
  try {
    return readCheckpoint(text)
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
    const message = `the response of ${instanceLabel(ctx)} is not a checkpoint: it ${error.message}`
    throw new CliError('unexpected_answer', exit.usage, message)
  }
}

async function findGrowthProblem(
  ctx: Context,
  earlier: SignedCheckpoint,
  newest: SignedCheckpoint,
): Promise<string | null> {
  const [first, second] = [toSide(earlier.checkpoint), toSide(newest.checkpoint)]
  const since = `since the checkpoint of ${earlier.checkpoint.created_at}`
  if (first.size > second.size) return `the log was shortened ${since}`
  const query = { first: first.size, second: second.size }
  const path = first.size === second.size ? [] : (await ctx.api.call(log.consistency, { query })).path
  const isGrown = isConsistent({ first, second, path: toBytes(path) })
  return isGrown ? null : `the log was changed ${since}`
}
