import { EventEmitter } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { http } from 'msw'
import { describe, expect, it } from 'vitest'
import { tellPurges } from '../../../src/commands/subject/repeat.ts'
import type { Context } from '../../../src/context.ts'
import type { ErasureReceipt } from '../../../src/contract/documents/erasure-receipt.ts'
import type { Consent } from '../../../src/contract/index.ts'
import { CliError } from '../../../src/errors/errors.ts'
import { answers, byId, consent, expectExit, useCli, uuid } from '../support.ts'
import { fakeInstance, freshFolders, maria } from './fake-instance.ts'

const cli = useCli()
const repeat = ['erase', '--repeat-since', '2026-01-01']

/** Records that were erased, and came back with a backup. */
async function erasedAndRestored() {
  const instance = fakeInstance(cli, 3)
  const records = [...instance.records]
  cli.instance.use(answers('get', '*/api/v1/requests', { error: 'not_found', message: 'no such route' }, 404))
  const folders = freshFolders(cli)
  const erased = await folders.run('erase', maria, '--ticket', 'DSR-7', '--confirm', '3')
  expect(erased.code, erased.stderr).toBe(0)
  for (const [id, record] of records) instance.records.set(id, record)
  instance.deletions.length = 0
  return { instance, folders }
}

it('subject erase --repeat-since works once with the routes of the specification alone', async () => {
  const { instance, folders } = await erasedAndRestored()
  expect(await folders.run(...repeat)).toMatchObject({ code: 2 })
  expect(await folders.run(...repeat, '--confirm', '2')).toMatchObject({ code: 10 })
  expect((await folders.run(...repeat, '--dry-run')).stdout).toMatch(/^DSR-7\t3\tplanned\t/)
  expect(instance.deletions).toEqual([])
  const again = await folders.run(...repeat, '--confirm', '3', '--reason', 'backup of Monday')
  expect([again.code, again.stdout], again.stderr).toEqual([0, expect.stringMatching(/^DSR-7\t3\terased\t2\t/)])
  expect(instance.deletions).toHaveLength(3)
  expect((await folders.run('receipts', '2')).stdout).toContain(
    '"backup of Monday (repeats receipt 1, whose records were live again)"',
  )
  expect(await folders.run(...repeat, '--yes')).toMatchObject({ code: 0, stdout: '' })
})

it('subject erase --repeat-since skips earlier receipts, and people with a record newer than the erasure', async () => {
  const { instance, folders } = await erasedAndRestored()
  const later = await folders.run('erase', '--repeat-since', '2999-01-01', '--yes')
  expect(later).toMatchObject({ code: 0, stderr: expect.stringContaining('no record of a receipt since 2999') })
  const [record] = instance.records.values()
  if (record) instance.records.set(uuid(77), { ...record, id: uuid(77), updated_at: '2999-01-01T00:00:00.000Z' })
  const changed = await folders.run(...repeat, '--yes')
  expectExit(changed, 8, `the record ${uuid(77)} was made, changed`)
  expect(instance.deletions).toEqual([])
})

it('subject erase --repeat-since lists a skipped person once, even after a second restore', async () => {
  const { instance, folders } = await erasedAndRestored()
  const held = [...instance.records]
  await folders.run(...repeat, '--yes')
  for (const [id, record] of held) instance.records.set(id, record)
  const [, record] = held[0] ?? []
  if (record) instance.records.set(uuid(77), { ...record, id: uuid(77), updated_at: '2999-01-01T00:00:00.000Z' })
  const { code, stderr } = await folders.run(...repeat, '--yes')
  expect([code, stderr.match(/receipt \d \(DSR-7\): .* left out/g)]).toEqual([
    8,
    [expect.stringMatching(/^receipt 2 /)],
  ])
})

it('subject erase --repeat-since ignores the ids of a receipt that was changed', async () => {
  const { instance, folders } = await erasedAndRestored()
  const path = folders.receipt(1)
  writeFileSync(path, readFileSync(path, 'utf8').replace(uuid(1), uuid(900)))
  const refused = await folders.run(...repeat, '--yes')
  expect(refused).toMatchObject({ code: 8, stderr: expect.stringContaining('receipt 1 is not signed by the key') })
  expect(instance.deletions).toEqual([])
})

it('subject erase --repeat-since stops at a signal during its search, and reports no person as skipped', async () => {
  const { instance, folders } = await erasedAndRestored()
  const signals = new EventEmitter()
  cli.instance.use(
    http.get(byId, async () => {
      signals.emit('SIGINT')
      await new Promise(() => {})
    }),
  )
  const { code, stderr } = await cli.run(['subject', ...repeat, '--yes'], { env: folders.env, signals })
  expect([code, stderr]).toEqual([130, expect.not.stringContaining('left out')])
  expect(instance.deletions).toEqual([])
})

it('subject erase --repeat-since treats all receipts that share an identifier as those of one person', async () => {
  const { records } = fakeInstance(cli, 0)
  cli.instance.use(answers('get', '*/api/v1/requests', { error: 'not_found', message: 'no such route' }, 404))
  const folders = freshFolders(cli)
  const held = new Map<string, Consent>()
  const hold = (n: number, subject_id: string) => {
    records.set(uuid(n), consent({ id: uuid(n), subject_id }))
    for (const [id, record] of records) held.set(id, record)
  }
  hold(1, 'a')
  hold(2, 'b')
  await folders.run('erase', 'a', '--also', 'b', '--ticket', 'DSR-1', '--confirm', '2')
  hold(3, 'a')
  await folders.run('erase', 'a', '--ticket', 'DSR-2', '--confirm', '1')
  hold(4, 'b')
  await folders.run('erase', 'b', '--ticket', 'DSR-3', '--confirm', '1')
  for (const [id, record] of held) records.set(id, record)
  const { stdout } = await folders.run(...repeat, '--dry-run')
  expect(stdout).toMatch(/^DSR-3\t4\tplanned\t\S*\t\S*\n$/)
})

describe('purges that a backup reverted', () => {
  const receipt = (number: number) => {
    const records = [{ id: 'a', result: 'deleted' }]
    return { number, ticket: 'DSR-7', records } as unknown as ErasureReceipt
  }
  const person = { subjects: ['maria'], ticket: 'DSR-8', reason: null, received_at: null }
  const command = 'consentctl subject purge'

  it.each([
    ['deleted', null, `, but the instance holds the data again; to purge it again: ${command} 3`],
    ['purged', null, null],
    [new CliError('forbidden', 4, 'no'), null, `; to purge it again, if that is not done: ${command} 3`],
    [
      'live',
      person,
      '; to purge it after this again, by the number of its new receipt: consentctl subject receipts --ticket DSR-8',
    ],
  ])('when the service returns %s, names the newest receipt of the records', async (answer, of, said) => {
    const lines: string[] = []
    const call = async (_: unknown, { body }: { body: { ids: string[] } }) => {
      if (answer instanceof Error) throw answer
      return { records: body.ids.map(id => ({ id, state: answer })) }
    }
    const ctx = { globals: {}, say: async (line: string) => void lines.push(line), api: { call } }
    const search = { people: [person], newest: new Map([['a', 3]]), undone: [{ receipt: receipt(1), person: of }] }
    await tellPurges(ctx as unknown as Context, search)
    expect(lines).toEqual(said === null ? [] : [`receipt 1 (DSR-7) was purged${said}`])
  })

  it('when a purge was repeated before, prints the command once', async () => {
    const lines: string[] = []
    const call = async () => ({ records: [{ id: 'a', state: 'deleted' }] })
    const ctx = { globals: {}, say: async (line: string) => void lines.push(line), api: { call } }
    const undone = [3, 2, 1].flatMap(number => [null, person].map(each => ({ receipt: receipt(number), person: each })))
    await tellPurges(ctx as unknown as Context, { people: [person], newest: new Map([['a', 3]]), undone })
    expect(lines).toEqual([
      expect.stringContaining(`receipt 3 (DSR-7) was purged, but the instance holds the data again`),
      expect.stringMatching(/^receipt 3 .*--ticket DSR-8$/),
    ])
  })
})
