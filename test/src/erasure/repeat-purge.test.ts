import { expect, it } from 'vitest'
import { PurgesToRepeat } from '../../../src/commands/subject/repeat-purge.ts'
import type { Context } from '../../../src/context.ts'
import type { ErasureReceipt } from '../../../src/contract/documents/erasure-receipt.ts'
import { CliError } from '../../../src/errors/errors.ts'

const receipt = (number: number, ...ids: string[]) => {
  const records = ids.map(id => ({ id, result: 'deleted' }))
  return { number, ticket: 'DSR-7', records } as unknown as ErasureReceipt
}

/** Of an erasure, its purge, and the erasure that repeats it after a restore. */
function afterSecondErasure() {
  const purges = new PurgesToRepeat()
  purges.addErasure(receipt(3, 'a', 'b'))
  purges.addErasure(receipt(1, 'a'))
  return purges
}

const person = { subjects: ['maria'], ticket: 'DSR-7', reason: null, received_at: null }

async function told(purges: PurgesToRepeat, answer: string | Error, people = [person]): Promise<string[]> {
  const lines: string[] = []
  const call = async (_: unknown, { body }: { body: { ids: string[] } }) => {
    if (answer instanceof Error) throw answer
    return { records: body.ids.map(id => ({ id, state: answer })) }
  }
  const ctx = { globals: {}, say: async (line: string) => void lines.push(line), api: { call } }
  await purges.tell(ctx as unknown as Context, people)
  return lines
}

it('a purge that a backup undid is named by the newest receipt of its records, until it is repeated', async () => {
  const purges = afterSecondErasure()
  purges.addPurged(receipt(1, 'a'), null)
  const command = 'consentctl subject purge 3'
  expect(await told(purges, 'deleted')).toEqual([
    `receipt 1 (DSR-7) was purged, but the instance holds the data again; to purge it again: ${command}`,
  ])
  expect(await told(purges, 'purged')).toEqual([])
  expect(await told(purges, new CliError('forbidden', 4, 'no'))).toEqual([
    `receipt 1 (DSR-7) was purged; to purge it again, if that is not done: ${command}`,
  ])
  await expect(told(purges, new CliError('network', 7, 'down'))).rejects.toThrow('down')
})

it('purges of one person are named once, also after a second restore', async () => {
  const both = 'receipt 3 (DSR-7) and receipt 1 (DSR-7) were purged'
  const isErased = afterSecondErasure()
  const isLive = afterSecondErasure()
  for (const each of [receipt(3, 'a', 'b'), receipt(1, 'a')]) {
    isErased.addPurged(each, null)
    isLive.addPurged(each, person)
  }
  expect(await told(isErased, 'deleted')).toEqual([
    `${both}, but the instance holds the data again; to purge them again: consentctl subject purge 3`,
  ])
  expect(await told(isLive, 'live')).toEqual([
    `${both}; to purge them after this again: consentctl subject purge DSR-7`,
  ])
})
