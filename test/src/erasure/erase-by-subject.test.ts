import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { HttpResponse, http } from 'msw'
import { beforeEach, describe, expect, it } from 'vitest'
import type { Client } from '../../../src/client/client.ts'
import type { ErasedRecord } from '../../../src/contract/documents/erasure-receipt.ts'
import type { SubjectErasure } from '../../../src/contract/index.ts'
import { markErased } from '../../../src/erasure/deletion.ts'
import type { Target } from '../../../src/erasure/records.ts'
import { apply, newState } from '../../../src/erasure/state.ts'
import { consent, expectExit, fails, useCli, uuid } from '../support.ts'
import {
  erasesSubjects,
  type FakeErasure,
  type FakeInstance,
  fakeInstance,
  freshFolders,
  lastReceipt,
  maria,
} from './fake-instance.ts'

const cli = useCli()
let folders: ReturnType<typeof freshFolders>
let instance: FakeInstance
let erasure: FakeErasure

beforeEach(() => {
  folders = freshFolders(cli)
  instance = fakeInstance(cli, 12)
  erasure = erasesSubjects(cli, instance)
})

const erase = (...more: string[]) => folders.run('erase', maria, '--ticket', 'T', ...more)
const resume = () => folders.run('resume', 'last', '-o', 'json')
const carriedOut = () => erasure.calls.filter(({ dry_run = false }) => !dry_run)
const named = () => carriedOut().flatMap(({ ids = [] }) => ids)
const ids = Array.from({ length: 12 }, (_, index) => uuid(index + 1))
const deletions = () => cli.sent().filter(({ method }) => method === 'DELETE')

/** The answer to a call that was carried out, and whose answer is lost. */
const lose = () => fails(502, 'unavailable')

describe('subject erase, when the service erases subjects itself,', () => {
  it('deletes the planned records by id, and the receipt has the times and certificates of the service', async () => {
    const ran = await erase('--yes', '-o', 'json')
    expectExit(ran, 0, 'erased 12 records on default@')
    expect(deletions()).toEqual([])
    expect(named()).toEqual(ids)
    const receipt = await lastReceipt(folders)
    expect(receipt).toMatchObject({
      result: 'erased',
      counts: { deleted: 12, already_gone: 0, unknown: 0 },
      verification: { live: 0, deleted: 12, remaining: [] },
      answers_lost: 0,
      certificates: [expect.stringContaining('"erased": 12')],
    })
    expect(receipt.records).toEqual(JSON.parse(ran.stdout))
    for (const { id, result, deleted_at, request_id } of receipt.records)
      expect([result, deleted_at, request_id]).toEqual(['deleted', erasure.deleted.get(id)?.deleted_at, 'e-2']) // after the question for a hold
    expect(await folders.run('verify', 'last', '--live', '--subject', maria)).toMatchObject({ code: 0 })
    expect(folders.journals()).toEqual([])
  })

  it('lists records whose histories do not verify separately, and announces a purge only of the others', async () => {
    erasure.unverified = [ids[3] ?? '']
    const { code, stderr } = await erase('--yes')
    expect(code, stderr).toBe(0)
    expect(stderr).toContain('erased 11 records on default@')
    expect(stderr).toContain(
      'that did not verify, or not in the time of the call: no purge takes a record whose history does not verify',
    )
    expect(await lastReceipt(folders)).toMatchObject({ counts: { deleted: 12 }, unverified: [ids[3]] })
  })

  it('when a certificate is not JSON, signs a receipt that states no purge', async () => {
    erasure.after = () => {
      const records = [...erasure.deleted.values()].map(({ id, site_id, deleted_at }) => ({ id, site_id, deleted_at }))
      const counts = { erased: records.length, remaining: 0, deleted: records.length, complete: true, dry_run: false }
      return HttpResponse.json({ ...counts, sites: [], records, already_deleted: [], certificate: 'opaque' })
    }
    expect(await erase('--yes')).toMatchObject({ code: 0 })
    expect(await lastReceipt(folders)).toMatchObject({
      statement: 'logically deleted; whether and when personal data is purged is not known',
      counts: { deleted: 12 },
      certificates: ['opaque'],
    })
  })

  it('deletes the planned records even when the quota is used up', async () => {
    instance.quota = 0
    expectExit(await erase('--confirm', '12'), 0, 'the quota is used up: erasing on the server instead')
    expect(named()).toEqual(ids)
    expect(await lastReceipt(folders)).toMatchObject({
      result: 'erased',
      plan_sha256: null,
      counts: { deleted: 12 },
      verification: { live: 0, deleted: 12 },
    })
  })

  it('when the quota is used up, lists page by page what it would delete', async () => {
    instance = fakeInstance(cli, 2101)
    erasure = erasesSubjects(cli, instance)
    instance.quota = 0
    const { code, stdout, stderr } = await erase('--dry-run', '-o', 'id')
    expect(code, stderr).toBe(0)
    expect(new Set(stdout.trim().split('\n')).size).toBe(2101)
    expect(erasure.calls).toHaveLength(4) // three pages, and the question for a hold
    expect([carriedOut(), instance.records.size]).toEqual([[], 2101])
  })

  it.each([['--dry-run'], ['--plan-out', 'plan.json']])(
    'with %s names a legal hold that would stop it',
    async (...flags) => {
      const held = { until: '2027-01-01T00:00:00.000Z', reason: 'a claim', ticket: null }
      erasure.held = held
      const [flag = '', name] = flags
      const file = name === undefined ? [] : [`${folders.state}.${name}`]
      const { code, stderr } = await erase(flag, ...file)
      const words = `a legal hold keeps the records of this person until ${held.until}: a claim; it stops the erasure`
      expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringContaining(words) })
      expect([carriedOut(), instance.records.size]).toEqual([[], 12])
      erasure.held = null
      expect((await erase('--dry-run')).stderr).not.toContain('hold')
    },
  )

  it('while a legal hold stands, is refused (exit 5) before a job begins', async () => {
    erasure.held = { until: '2027-01-01T00:00:00.000Z', reason: 'a claim', ticket: null }
    const { code, stderr } = await erase('--yes')
    expect([code, stderr]).toEqual([5, expect.stringContaining('until 2027-01-01T00:00:00.000Z: a claim')])
    expect([carriedOut(), folders.journals(), folders.receipts()]).toEqual([[], [], []])
    erasure.held = null
    const ran = await erase('--yes')
    expectExit(ran, 0, 'erased 12 records')
    expect(ran.stderr).not.toContain('not finished')
  })

  it.each([
    ['--confirm', async () => [maria, '--ticket', 'T', '--confirm', '12']],
    [
      '--apply',
      async () => {
        const plan = `${folders.state}.plan`
        await erase('--plan-out', plan)
        return ['--apply', plan, '--yes']
      },
    ],
  ])('with %s deletes no record that was created after the plan, and reports it (exit 8)', async (_, flags) => {
    const args = await flags()
    erasure.before = () => {
      instance.records.set(uuid(70), consent({ id: uuid(70), subject_id: maria, site_id: uuid(900) }))
      instance.quota = 0
      return undefined
    }
    expectExit(await folders.run('erase', ...args), 8, `not erased: ${uuid(70)}`)
    expect(named()).toEqual(ids)
    expect([...instance.records.keys()]).toEqual([uuid(70)])
    expect(await lastReceipt(folders)).toMatchObject({
      result: 'remaining',
      counts: { deleted: 12 },
      verification: { live: 1, remaining: [{ id: uuid(70), site_id: uuid(900) }] },
    })
  })

  it('exits with 6 if it needs the records themselves and the quota is used up', async () => {
    const plan = `${folders.state}.plan`
    await erase('--plan-out', plan)
    instance.quota = 0
    expect(await folders.run('erase', '--apply', plan, '--yes')).toMatchObject({ code: 6 })
    expect(await erase('--yes', '--export-first', `${folders.state}.export`)).toMatchObject({ code: 6 })
    expect([carriedOut(), instance.records.size]).toEqual([[], 12])
  })

  it('when the quota is used up, exits with 10 if a record is created during the prompt', async () => {
    instance.quota = 0
    cli.instance.use(
      http.post('*/api/v1/subjects/erase', async () => {
        const records = erasure.calls.push({ subject_id: maria }) <= 2 ? [1, 2] : [1, 2, 3]
        const rows = records.map(index => ({ id: uuid(index), site_id: uuid(900), deleted_at: null }))
        const counts = { erased: rows.length, remaining: rows.length, deleted: 0, complete: false }
        const answer = { ...counts, dry_run: true, sites: [], records: rows, already_deleted: [] }
        return HttpResponse.json({ ...answer, certificate: null })
      }),
    )
    const ran = await cli.run(['subject', 'erase', maria, '--ticket', 'T'], {
      env: folders.env,
      tty: { stdin: true, stderr: true },
      stdin: '2\n',
    })
    expectExit(ran, 10, `1 added (${uuid(3)})`)
    expect(folders.journals()).toEqual([])
  })

  it('sends at most 200 ids per call, and separate calls for each identifier of the person', async () => {
    instance = fakeInstance(cli, 450)
    erasure = erasesSubjects(cli, instance)
    for (const index of [1001, 1002])
      instance.records.set(uuid(index), consent({ id: uuid(index), subject_id: 'customer-7' }))
    instance.records.set(uuid(1003), consent({ id: uuid(1003), subject_id: 'another person' }))
    expect(await erase('--also', 'customer-7', '--yes')).toMatchObject({ code: 0 })
    expect(carriedOut().map(({ subject_id, ids: asked }) => [subject_id, asked?.length])).toEqual([
      [maria, 200],
      [maria, 200],
      [maria, 50],
      ['customer-7', 2],
    ])
    expect([...instance.records.keys()]).toEqual([uuid(1003)])
    expect(await lastReceipt(folders)).toMatchObject({ counts: { deleted: 452 } })
  })

  it('when a call deletes only some records, repeats it until all are deleted', async () => {
    erasure.limit = 5
    expect(await erase('--yes')).toMatchObject({ code: 0 })
    expect(carriedOut().map(call => call.ids?.length)).toEqual([12, 7, 2])
    expect(await lastReceipt(folders)).toMatchObject({
      counts: { deleted: 12, unknown: 0 },
      answers_lost: 0,
      certificates: expect.objectContaining({ length: 3 }),
    })
    expect(await folders.run('verify', 'last', '--live')).toMatchObject({ code: 0 })
  })

  it('reports records that the service cannot delete (exit 8), and resume deletes them', async () => {
    const stuck = instance.records.get(uuid(3))
    erasure.before = () => {
      instance.records.delete(uuid(3))
      return undefined
    }
    erasure.after = ({ ids: asked }) => {
      if (stuck) instance.records.set(uuid(3), stuck)
      if (asked?.length !== 1) return undefined
      const none = { erased: 0, remaining: 1, deleted: 11, complete: false, dry_run: false, sites: [] }
      return HttpResponse.json({ ...none, records: [], already_deleted: [], certificate: null })
    }
    const ran = await erase('--yes', '-o', 'json')
    expectExit(ran, 8, uuid(3))
    expect(JSON.parse(ran.stdout)).toHaveLength(12)
    expect(folders.receipts()).toEqual([])
    erasure.before = () => undefined
    erasure.after = () => undefined
    expect(await resume()).toMatchObject({ code: 0 })
    expect(await lastReceipt(folders)).toMatchObject({ counts: { deleted: 12, unknown: 0 } })
  })

  it('deletes record by record, if the service does not accept ids', async () => {
    cli.instance.use(
      http.get('*/api/v1/openapi.json', () => HttpResponse.json({ paths: { '/api/v1/subjects/erase': { post: {} } } })),
    )
    expect(await erase('--yes')).toMatchObject({ code: 0 })
    expect([deletions().length, erasure.calls]).toEqual([12, []])
  })
})

describe('subject erase, when a response of the service is lost', () => {
  it('learns from the next response what the lost one had deleted', async () => {
    let lost = 0
    erasure.after = () => (lost++ === 0 ? lose() : undefined)
    expect(await erase('--yes')).toMatchObject({ code: 0 })
    const receipt = await lastReceipt(folders)
    expect(receipt).toMatchObject({ counts: { deleted: 12, unknown: 0 }, answers_lost: 1 })
    for (const { id, result, deleted_at, request_id } of receipt.records)
      expect([result, deleted_at, request_id]).toEqual(['deleted', erasure.deleted.get(id)?.deleted_at, null])
    expect(await folders.run('verify', 'last', '--live')).toMatchObject({ code: 0 })
  })

  it('learns in a later run what an earlier one had deleted', async () => {
    erasure.after = lose
    expect(await erase('--yes')).toMatchObject({ code: 11 })
    erasure.after = () => undefined
    expect(await resume()).toMatchObject({ code: 0 })
    expect(await lastReceipt(folders)).toMatchObject({ counts: { deleted: 12, already_gone: 0, unknown: 0 } })
  })

  it('when the service no longer shows a record, does not say who deleted it', async () => {
    let lost = 0
    erasure.after = () => {
      erasure.deleted.clear() // as after a purge
      return lost++ === 0 ? lose() : undefined
    }
    expect(await erase('--yes')).toMatchObject({ code: 0 })
    expect(await lastReceipt(folders)).toMatchObject({
      result: 'erased',
      counts: { deleted: 0, already_gone: 0, unknown: 12 },
      records: expect.arrayContaining([expect.objectContaining({ result: 'unknown', request_id: null })]),
    })
  })
})

describe('subject erase, when the service erases subjects itself › result of a record', () => {
  it('is "already_gone" with its time if another request deleted it', async () => {
    const deleted_at = '2026-02-01T00:00:00.000Z'
    erasure.before = () => {
      for (const id of [uuid(1), uuid(2)]) instance.records.delete(id)
      erasure.deleted.set(uuid(1), consent({ id: uuid(1), subject_id: maria, deleted_at }))
      return undefined
    }
    expect(await erase('--yes')).toMatchObject({ code: 0 })
    const { counts, records } = await lastReceipt(folders)
    expect(counts).toMatchObject({ deleted: 10, already_gone: 2, unknown: 0 })
    expect(records[0]).toMatchObject({ result: 'already_gone', deleted_at, request_id: null })
    expect(records[1]).toMatchObject({ result: 'already_gone', deleted_at: null, request_id: null })
  })

  it('is "deleted" if the service says so, even when its clock is two hours behind', async () => {
    erasure.clockOffsetMs = -7_200_000
    expect(await erase('--yes')).toMatchObject({ code: 0 })
    expect(await lastReceipt(folders)).toMatchObject({ counts: { deleted: 12, already_gone: 0 } })
    expect(await folders.run('verify', 'last', '--live')).toMatchObject({ code: 0 })
  })

  it('is "remaining" if the record is listed afterwards, whatever the service responds', async () => {
    const first = instance.records.get(uuid(1)) as ReturnType<typeof consent>
    erasure.after = () => {
      instance.records.set(uuid(1), first)
      return undefined
    }
    expect(await erase('--yes')).toMatchObject({ code: 8 })
    const { counts, records, result } = await lastReceipt(folders)
    expect([result, counts.deleted]).toEqual(['remaining', 11])
    expect(records[0]).toMatchObject({ result: 'remaining', deleted_at: null })
    instance.records.delete(uuid(1))
    expect(await folders.run('verify', 'last', '--live')).toMatchObject({ code: 0 })
  })

  it('is not recorded if the call was rejected (exit 4), and resume deletes the records', async () => {
    erasure.before = () => fails(403, 'forbidden')
    expectExit(await erase('--yes'), 4, '12 of 12 records not erased yet')
    erasure.before = () => undefined
    expect(await resume()).toMatchObject({ code: 0 })
    expect(await lastReceipt(folders)).toMatchObject({ answers_lost: 0, counts: { deleted: 12 } })
  })
})

it('reports that records may be erased if the response to their deletion was lost (exit 11)', async () => {
  erasure.after = () => fails(503, 'unavailable')
  expectExit(await erase('--yes'), 11, '12 of 12 records may not be erased yet, so no receipt was made')
  erasure.after = () => undefined
  expect(await resume()).toMatchObject({ code: 0 })
})

describe('when the receipt cannot be written', () => {
  it('reports that everything is erased and what to fix, and resume creates the receipt', async () => {
    const folder = join(folders.state, 'receipts')
    erasure.after = () => {
      rmSync(folder, { recursive: true, force: true })
      writeFileSync(folder, 'a file where a folder must be')
      return undefined
    }
    const { code, stderr } = await erase('--yes')
    expect(code).toBe(1)
    expect(stderr).toContain('12 records erased, and the receipt is not made yet; to resume: consentctl subject resume')
    expect(stderr).toContain('check the owner of the folder and the free space')
    rmSync(folder)
    expect(await resume()).toMatchObject({ code: 0 })
    expect(await lastReceipt(folders)).toMatchObject({ counts: { deleted: 12 } })
  })
})

describe('subject erase with an untrustworthy service', () => {
  it('rejects the deletion of a record that was not requested (exit 5)', async () => {
    instance.records.set(uuid(70), consent({ id: uuid(70), subject_id: 'other' }))
    erasure.after = () => {
      const record = { id: uuid(70), site_id: uuid(900), deleted_at: new Date().toISOString() }
      const counts = { erased: 13, remaining: 0, deleted: 13, complete: true, dry_run: false, sites: [] }
      return HttpResponse.json({ ...counts, records: [record], already_deleted: [], certificate: null })
    }
    expectExit(await erase('--yes'), 5, `says that it deleted the record ${uuid(70)}`)
    expect(folders.receipts()).toEqual([])
  })

  it.each([-1, 0.5, 2 ** 60])('rejects a count of %d records', async records => {
    erasure.after = () => {
      const wrong = { erased: records, remaining: 0, deleted: 0, complete: true, dry_run: false }
      const sites = [{ site_id: uuid(900), records }]
      return HttpResponse.json({ ...wrong, sites, records: [], already_deleted: [], certificate: null })
    }
    const { code } = await erase('--yes')
    expect(code).not.toBe(0)
    expect(folders.receipts()).toEqual([])
  })
})

/** A state of two subjects without live records, and a service that answers marks of them in this way. */
function marking(answer: (subject: string, calls: number, onLost: () => void) => object) {
  const calls: string[] = []
  const call: unknown = async (_: unknown, { body, onLost }: { body: SubjectErasure; onLost: () => void }) => {
    calls.push(body.subject_id)
    return { records: [], already_deleted: [], ...answer(body.subject_id, calls.length, onLost) }
  }
  const subjects = ['first', 'second']
  const state = newState({ subjects, ticket: 'T', reason: null, started_at: '' })
  return { api: { call: call as Client['call'], supports: async () => true }, state, calls }
}

it('marking deleted records yields each certificate as it arrives, and reports a lost response', async () => {
  const { api, state } = marking((subject, _, onLost) => {
    if (subject === 'first') return { complete: true, certificate: 'signed' }
    onLost()
    throw new Error('no answer')
  })
  const answers: unknown[] = []
  const marked = markErased(api, state, (...answer) => answers.push(answer))
  await expect(marked).rejects.toThrow('no answer')
  expect(answers).toEqual([
    ['signed', false],
    [null, true],
  ])
})

it('when a later response verifies a record, no longer lists it as unverified', () => {
  const { state } = marking(() => ({}))
  const record = { id: uuid(1) } as ErasedRecord
  const answer = { certificate: null, isLost: false, isComplete: true, records: [record], untold: [] }
  apply(state, ['a', { ...answer, unverified: [record.id] }, true])
  expect([...state.unverified]).toEqual([record.id])
  apply(state, ['a', { ...answer, unverified: [] }, true])
  expect([...state.unverified]).toEqual([])
})

describe('marking deleted records', () => {
  it('is repeated while it makes progress, for each subject with unmarked records', async () => {
    const { api, state, calls } = marking((_, count) => ({ complete: count > 2, marked: 200, certificate: null }))
    for (const subject of [0, 1]) {
      const target = { id: uuid(subject), site_id: uuid(900), subject }
      apply(state, ['t', target as Target])
      const answer = { certificate: null, isLost: false, records: [], untold: [target.id], unverified: [] }
      apply(state, ['a', { ...answer, isComplete: subject === 1 }, true])
    }
    await markErased(api, state)
    expect(calls).toEqual(['first', 'first', 'first'])
  })

  it('fails (exit 7) if a call marks nothing and some are left', async () => {
    const { api, state, calls } = marking((_, count) => ({
      complete: false,
      marked: count === 1 ? 200 : 0,
      certificate: null,
    }))
    await expect(markErased(api, state)).rejects.toMatchObject({ code: 'not_marked', exit: 7 })
    expect(calls).toEqual(['first', 'first'])
  })
})
