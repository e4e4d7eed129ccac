import { HttpResponse } from 'msw'
import { beforeEach, describe, expect, it } from 'vitest'
import { consent, fails, useCli, uuid } from '../support.ts'
import { type FakeInstance, fakeInstance, freshFolders, lastReceipt, maria, returnsDeleted } from './fake-instance.ts'

const cli = useCli()
let folders: ReturnType<typeof freshFolders>
let instance: FakeInstance

beforeEach(() => {
  folders = freshFolders(cli)
  instance = fakeInstance(cli, 3)
})

const erase = () => folders.run('erase', maria, '--ticket', 'T', '--yes')
const resume = () => folders.run('resume', 'last')

/** Deletes the first record when asked to, and answers in turn with these. */
function deleteAndAnswer(...answers: (() => Response)[]): void {
  instance.beforeDelete = id => {
    if (id !== uuid(1)) return undefined
    instance.records.delete(id)
    return answers.shift()?.()
  }
}

/** Returns the first record of the receipt. */
async function readFirst() {
  const receipt = await lastReceipt(folders)
  return receipt.records.find(({ id }: { id: string }) => id === uuid(1))
}

const lost = () => fails(507, 'server_error')
const refused = () => fails(401, 'unauthorized')

describe('the receipt, when the response to a deletion is lost and the record is gone,', () => {
  it.each([
    ['any error', [lost]],
    ['a later attempt was rejected', [lost, refused]],
  ])('records "unknown" if the instance shows no deletion time: %s', async (_, answers) => {
    const runs = answers.length
    deleteAndAnswer(...answers)
    await erase()
    for (let run = 0; run < runs; run += 1) await resume()
    expect(await readFirst()).toEqual({
      id: uuid(1),
      site_id: uuid(900),
      result: 'unknown',
      deleted_at: null,
      request_id: null,
      deleted_at_by: null,
    })
    expect(await lastReceipt(folders)).toMatchObject({ counts: { deleted: 2, already_gone: 0, unknown: 1 } })
    expect((await folders.run('receipts', 'last', '--format', 'md')).stdout).toContain('it is not known who')
  })

  it('records "deleted" if the instance shows a deletion during the job', async () => {
    const deleted_at = new Date().toISOString()
    returnsDeleted(cli, { [uuid(1)]: consent({ id: uuid(1), subject_id: maria, deleted_at }) })
    deleteAndAnswer(lost)
    await erase()
    await resume()
    expect(await readFirst()).toMatchObject({ result: 'deleted', deleted_at, request_id: null })
  })

  it('records "already_gone" if the instance shows a deletion before the job', async () => {
    const deleted_at = '2026-02-01T00:00:00.000Z'
    returnsDeleted(cli, { [uuid(1)]: consent({ id: uuid(1), subject_id: maria, deleted_at }) })
    deleteAndAnswer(lost)
    await erase()
    await resume()
    expect(await readFirst()).toMatchObject({ result: 'already_gone', deleted_at })
  })
})

it('when its deletion by the job was rejected, the receipt lists a record that is gone as "already_gone"', async () => {
  deleteAndAnswer(refused)
  await erase()
  await resume()
  expect(await readFirst()).toMatchObject({ result: 'already_gone', deleted_at: null, request_id: null })
})

describe('the receipt, when a record is still listed,', () => {
  it.each([
    ['is answered with another record', () => HttpResponse.json(consent({ id: uuid(8), deleted_at: 'x' }))],
    ['fails, and then finds nothing', () => fails(503, 'unavailable')],
  ])('records "remaining" if its deletion %s', async (_, answer) => {
    const answers = [answer, () => fails(404, 'not_found')]
    instance.beforeDelete = id => (id === uuid(1) ? answers.shift()?.() : undefined)
    expect(await erase()).toMatchObject({ code: 8 })
    expect(await readFirst()).toMatchObject({ result: 'remaining', deleted_at: null })
    expect(await lastReceipt(folders)).toMatchObject({
      result: 'remaining',
      counts: { deleted: 2, already_gone: 0, unknown: 0 },
      verification: { remaining: [{ id: uuid(1) }] },
    })
  })
})
