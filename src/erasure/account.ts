import type { Client } from '../client/client.ts'
import { CliError, exit } from '../errors/errors.ts'
import type { Identity } from '../receipts/signer.ts'
import type { JobState } from './job.ts'
import { askForErasable, findStates, listHolding } from './records.ts'

/**
 * A resumed job needs its account: another account's key sees all its records as gone. If the instance names no
 * account, the key must see one of the records. @throws CliError other_account (exit 10)
 */
export async function requireSameAccount(api: Client, state: JobState, { account_id }: Identity): Promise<void> {
  const { header } = state
  const isKnown = header.account_id !== null && account_id !== null
  const isSame = isKnown ? header.account_id === account_id : await seesAny(api, state)
  if (isSame) return
  const why = isKnown
    ? `the key is of the account ${account_id}, and the job of ${header.account_id}`
    : 'the key sees none of the job’s records, live or deleted'
  throw new CliError('other_account', exit.changed, `${why}: nothing was done`, {
    hint: 'resume it with a key of the account that it was started with',
  })
}

/** Live records first: that takes fewer requests. */
async function seesAny(api: Client, { header, targets }: JobState): Promise<boolean> {
  const ask = header.deletes_by === 'subject' ? askForErasable : listHolding
  const { live } = await ask(api, header.subjects)
  if (live.some(({ id }) => targets.has(id))) return true
  for (const id of targets.keys()) if ((await findStates(api, [id])).get(id) !== 'unknown') return true
  return false
}
