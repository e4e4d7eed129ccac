import { isDeepStrictEqual } from 'node:util'
import * as z from 'zod'
import { isId } from '../../../cli/action.ts'
import type { Context } from '../../../context.ts'
import type { Circumstances } from '../../../contract/circumstances.ts'
import { type AuditEntry, type Consent, ConsentChange, consents } from '../../../contract/consents.ts'
import { text } from '../../../contract/values.ts'
import { CliError, exit } from '../../../errors/errors.ts'
import { exitOf } from '../../../errors/explain.ts'
import type { Answer, Item, Operation, Sending } from './operation.ts'
import { lineKind } from './reader.ts'

const Id = text(1, 255).refine(isId, 'is not a valid id')
const Change = z.strictObject({
  id: Id,
  ...ConsentChange.shape,
  replace_preferences: z.boolean('must be true or false').optional(),
})
type Change = z.output<typeof Change>
const Deletion = z.object({ id: Id })
const noId = { field: 'id', message: 'has no id' }

export interface CommonChange {
  readonly accepted: boolean | undefined
  readonly preferences: Readonly<Record<string, unknown>> | undefined
  readonly replace_preferences?: boolean | undefined
  readonly circumstances?: Circumstances | undefined
}

/** `update`: reads each record and writes it only if it differs. */
export function updates(change: CommonChange): Operation {
  const lines = lineKind(Change, 'a change', noId, fields => {
    const { accepted, preferences } = fields as Partial<Change>
    return accepted === undefined && preferences === undefined ? 'changes nothing' : null
  })
  return {
    command: 'update',
    lines,
    done: 'updated',
    words: { verb: 'change', work: 'changes', check: 'history before you change', unchanged: 'as wanted' },
    defaults: JSON.parse(JSON.stringify(change)), // drops undefined fields
    requests: 2,
    isIdempotent: true,
    connect: ctx => onePerRequest(item => update(ctx, item)),
  }
}

async function update(ctx: Context, { entry, sentAt }: Item): Promise<Answer> {
  const { api } = ctx
  const { id, accepted, preferences, replace_preferences: replace, circumstances } = entry.draft as Change
  const before = await api.consents.get({ params: { id } })
  const body = changeOf(before, { accepted, preferences, replace_preferences: replace, circumstances })
  const isChanged = sentAt !== null && (await entriesSince(ctx, id, sentAt)).length > 0
  if (body === null) return { id, how: isChanged ? 'unanswered' : 'unchanged' }
  if (isChanged) throw changedMeanwhile()
  await api.consents.update({ params: { id }, body })
  return { id }
}

/** Null if the record already has the values. */
export function changeOf(record: Consent, change: Partial<CommonChange>): ConsentChange | null {
  const { accepted, preferences, replace_preferences: replace, circumstances } = change
  const body = {
    accepted,
    preferences: preferences && (replace ? preferences : { ...record.preferences, ...preferences }),
    ...(circumstances && { circumstances }),
  }
  return isWanted(record, body) ? null : body
}

/** Corrects for the clock difference. */
async function entriesSince({ api }: Context, id: string, sentAt: number): Promise<AuditEntry[]> {
  let aheadMs = 0
  const onResponse = ({ at }: { readonly at: number | null }) => {
    aheadMs = at === null ? 0 : at - Date.now()
  }
  const { data } = await api.call(consents.history, { params: { id }, onResponse })
  return data.filter(({ created_at }) => Date.parse(created_at) >= sentAt + aheadMs)
}

function changedMeanwhile(): CliError {
  const message =
    'it may have been sent before, and its record was changed since, by this job or by others: it was not sent again'
  return new CliError('lost', exit.unknown, message)
}

function isWanted(record: Consent, { accepted, preferences }: ConsentChange): boolean {
  return (
    (accepted === undefined || record.accepted === accepted) &&
    (preferences === undefined || isDeepStrictEqual(record.preferences, preferences))
  )
}

/** `ignoreMissing`: a missing record is not an error. */
export function deletions({ ignoreMissing }: { readonly ignoreMissing: boolean }): Operation {
  return {
    command: 'rm',
    lines: { ...lineKind(Deletion, 'a deletion', noId), isOfIds: true },
    done: 'deleted',
    words: { verb: 'delete', work: 'deletions', check: 'history before you delete', unchanged: 'as wanted' },
    defaults: { ignore_missing: ignoreMissing || undefined },
    requests: 1,
    isIdempotent: true,
    connect: (ctx, _, { operation }) =>
      onePerRequest(item => remove(ctx, item, operation.defaults['ignore_missing'] === true)),
  }
}

async function remove(ctx: Context, { entry, sentAt }: Item, ignoreMissing: boolean): Promise<Answer> {
  const { id } = entry.draft as z.output<typeof Deletion>
  try {
    const entries = sentAt === null ? [] : await entriesSince(ctx, id, sentAt)
    const actions = entries.map(({ action }) => action)
    if (actions.includes('deleted') && ['deleted', 'purged'].includes(actions.at(-1) ?? ''))
      return { id, how: 'unanswered' }
    if (actions.some(action => !['created', 'updated', 'purged'].includes(action ?? ''))) throw changedMeanwhile()
    await ctx.api.consents.remove({ params: { id } })
    return { id }
  } catch (error) {
    if (exitOf(error) !== exit.notFound || !ignoreMissing) throw error
    return { id, how: 'unchanged' }
  }
}

/** Sends the lines of one record in file order, one after the other. */
function onePerRequest(send: (item: Item) => Promise<Answer>): Sending {
  const inFlight = new Map<string, Promise<Answer>>()
  const inOrder = async (item: Item): Promise<Answer> => {
    const { id } = item.entry.draft as Change
    const answer = (inFlight.get(id) ?? Promise.resolve())
      .then(() => send(item))
      .catch((error: unknown): Answer => ({ error }))
    inFlight.set(id, answer)
    try {
      return await answer
    } finally {
      if (inFlight.get(id) === answer) inFlight.delete(id)
    }
  }
  return {
    maxLines: async () => 1,
    isRepeatable: () => true,
    mayResend: async () => true,
    send: items => Promise.all(items.map(inOrder)),
  }
}
