import { subjectCommand } from '../../cli/messages.ts'
import type { Context } from '../../context.ts'
import { deletedIds } from '../../contract/documents/deletion-statement.ts'
import type { ErasureReceipt } from '../../contract/documents/erasure-receipt.ts'
import type { SubjectRequest } from '../../erasure/job.ts'
import { previewPurge } from '../../erasure/purge-calls.ts'
import { explain } from '../../errors/explain.ts'

/** Purges that a restored backup may have undone; receipts are added newest first. */
export class PurgesToRepeat {
  /** By record id: the newest erasure that lists it as deleted. */
  readonly #newest = new Map<string, number>()
  readonly #live: { readonly receipt: ErasureReceipt; readonly person: SubjectRequest }[] = []
  /** By number of the receipt that lists the records. */
  readonly #deleted = new Map<number, { readonly receipts: ErasureReceipt[]; readonly ids: string[] }>()

  addErasure(receipt: ErasureReceipt): void {
    for (const id of deletedIds(receipt)) if (!this.#newest.has(id)) this.#newest.set(id, receipt.number)
  }

  /** `person`: null without live records. */
  addPurged(receipt: ErasureReceipt, person: SubjectRequest | null): void {
    if (person) this.#live.push({ receipt, person })
    else for (const id of deletedIds(receipt)) this.#addDeleted(receipt, id)
  }

  #addDeleted(receipt: ErasureReceipt, id: string): void {
    const number = this.#newest.get(id) ?? receipt.number
    const { receipts, ids } = this.#deleted.get(number) ?? { receipts: [], ids: [] }
    this.#deleted.set(number, { receipts, ids })
    if (!receipts.includes(receipt)) receipts.push(receipt)
    ids.push(id)
  }

  /** Names purges to repeat: after the erasure of `people`, or now. */
  async tell(ctx: Context, people: readonly SubjectRequest[]): Promise<void> {
    for (const { subjects, ticket } of people) {
      const isOfPerson = (of: SubjectRequest) => of.subjects.some(each => subjects.includes(each))
      const receipts = this.#live.filter(({ person }) => isOfPerson(person)).map(({ receipt }) => receipt)
      const [were, them] = describe(receipts)
      const command = subjectCommand(ctx, 'purge', ticket)
      if (receipts.length > 0) await ctx.say(`${were} purged; to purge ${them} after this again: ${command}`)
    }
    for (const [number, { receipts, ids }] of this.#deleted) {
      const isUndone = await isSomeUnpurged(ctx, ids)
      const [were, them] = describe(receipts)
      const command = subjectCommand(ctx, 'purge', String(number))
      if (isUndone === null) await ctx.say(`${were} purged; to purge ${them} again, if that is not done: ${command}`)
      else if (isUndone)
        await ctx.say(`${were} purged, but the instance holds the data again; to purge ${them} again: ${command}`)
    }
  }
}

function describe(receipts: readonly ErasureReceipt[]): readonly [were: string, them: string] {
  const names = receipts.map(({ number, ticket }) => `receipt ${number} (${ticket})`).join(' and ')
  return receipts.length > 1 ? [`${names} were`, 'them'] : [`${names} was`, 'it']
}

/** Null if unknown. */
async function isSomeUnpurged({ api }: Context, ids: readonly string[]): Promise<boolean | null> {
  try {
    return [...(await previewPurge(api, ids)).values()].includes('deleted')
  } catch (error) {
    if (['not_found', 'not_offered', 'forbidden'].includes(explain(error).code)) return null
    throw error
  }
}
