import type { Context } from '../../../context.ts'
import { consents } from '../../../contract/consents.ts'
import type { Consent } from '../../../contract/index.ts'
import { CliError } from '../../../errors/errors.ts'
import { exit } from '../../../errors/exit.ts'
import { exitOf } from '../../../errors/explain.ts'
import { showsDeleted } from '../../../subject/found.ts'
import type { ConsentRow } from '../../../views/consent.ts'
import { type At, absence, type Moment, momentOf } from './moment.ts'

/** A record by its id as it was. Throws where it was not there, or how it was cannot be told. */
export async function getAt(ctx: Context, id: string, at: At): Promise<ConsentRow> {
  const moment = await readMoment(ctx, id, null, at)
  if ('row' in moment) {
    for (const note of moment.notes) await ctx.warn(`warning: ${note}`)
    return moment.row
  }
  if (moment.absent === 'untold') throw untoldError(id, at, moment.why)
  const hint = moment.absent === 'deleted' ? { hint: '--include-deleted shows it' } : {}
  throw new CliError(
    'not_found',
    exit.notFound,
    `no consent with id ${id} at ${at.text}: ${moment.why}`,
    hint,
  )
}

export function untoldError(id: string, at: At, why: string): CliError {
  return new CliError('untold', exit.notFound, `how ${id} was at ${at.text} cannot be told: ${why}`)
}

/** A record as it was, from its history; `listed` is the record where a list has shown it. */
export async function readMoment(ctx: Context, id: string, listed: Consent | null, at: At): Promise<Moment> {
  const { data } = await ctx.api.consents.history({ params: { id } })
  const absent = absence(listed, data, at)
  return absent ?? momentOf(id, listed ?? (await findRecord(ctx, id)), data, at)
}

/** A record, deleted or not; null where the instance shows it no more. */
async function findRecord(ctx: Context, id: string): Promise<Consent | null> {
  const get = (query: { include_deleted?: boolean }) =>
    ctx.api.consents.get({ params: { id }, query }).catch((error: unknown) => {
      if (exitOf(error) === exit.notFound) return null
      throw error
    })
  return (
    (await get({})) ?? ((await showsDeleted(ctx, consents.get)) ? await get({ include_deleted: true }) : null)
  )
}
