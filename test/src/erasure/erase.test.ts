import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, it } from 'vitest'
import { schemaProblems } from '../../support/document-schema.ts'
import { consent, expectExit, expectNoStdout, expectUnsent, fails, useCli, uuid } from '../support.ts'
import { fakeInstance, freshFolders, lastReceipt, maria } from './fake-instance.ts'

const cli = useCli()
let folders: ReturnType<typeof freshFolders>
beforeEach(() => {
  folders = freshFolders(cli)
})
const erase = ['erase', maria, '--ticket', 'DSR-7']

describe('subject commands with an instance that has only the routes of the specification', () => {
  it('find, erase and verify send only requests of the specification', async () => {
    const instance = fakeInstance(cli, 230)
    instance.records.set(uuid(999), consent({ id: uuid(999), subject_id: 'other' }))
    const found = await folders.run('find', maria, '-o', 'id')
    expect(found.stdout.trim().split('\n')).toHaveLength(230)
    expect(found.stderr).toContain(`115 of site ${uuid(900)}`)
    const erased = await folders.run(...erase, '--confirm', '230', '-o', 'ndjson')
    expect(erased.code, erased.stderr).toBe(0)
    expect(erased.stdout.trim().split('\n')).toHaveLength(230)
    expect([...instance.records.keys()]).toEqual([uuid(999)])
    const receipt = await lastReceipt(folders)
    expect(receipt).toMatchObject({
      number: 1,
      result: 'erased',
      counts: { deleted: 230, already_gone: 0 },
      subjects: null,
      near_matches: null,
      verification: { live: 0, deleted: null, remaining: [] },
      records: expect.arrayContaining([
        expect.objectContaining({ id: uuid(7), result: 'deleted', request_id: `r-${uuid(7)}` }),
      ]),
    })
    expect(await folders.run('verify', 'last', '--live', '--subject', maria)).toMatchObject({ code: 0 })
    expect(folders.journals()).toEqual([])
    const asked = new Set(cli.sent().map(({ method, path }) => `${method} ${path.replace(/[\da-f-]{36}/, ':id')}`))
    expect([...asked].sort()).toEqual([
      'DELETE /api/v1/consents/:id',
      'GET /api/v1/consents',
      'GET /api/v1/consents/:id',
      'GET /api/v1/consents/:id/history',
      'GET /api/v1/openapi.json',
    ])
  })

  it('export writes records with their histories, and a signed manifest with correct counts', async () => {
    fakeInstance(cli, 3)
    const file = join(folders.state, '..', `${Math.random()}.json`)
    expect(await folders.run('export', maria, '--out', file)).toMatchObject({ code: 0, stdout: '' })
    const { records } = JSON.parse(readFileSync(file, 'utf8'))
    expect(records.map((record: { history: unknown[] }) => record.history.length)).toEqual([1, 1, 1])
    const manifest = JSON.parse(readFileSync(`${file}.manifest.json`, 'utf8'))
    expect(manifest).toMatchObject({ records: 3, entries: 3, bytes: statSync(file).size })
    expect(schemaProblems(readFileSync(`${file}.manifest.json`, 'utf8'))).toEqual([])
    expect(statSync(file).mode & 0o777).toBe(0o600)
    expect(await folders.run('export', maria, '--out', file)).toMatchObject({ code: 2 })
  })
})

describe('subject export of an imported record', () => {
  it('contains its origin, evidence, and when the person answered', async () => {
    const instance = fakeInstance(cli, 1)
    const file = join(folders.state, '..', `${Math.random()}.json`)
    const origin = { system: 'acme', id: '47\u202e11', evidence: 'https://acme.example/4711' }
    const told = { given_at: '2020-05-01T10:00:00.000Z', origin }
    const [[id, record] = ['', consent()]] = instance.records
    instance.records.set(id, { ...record, ...told })
    expect(await folders.run('export', maria, '--out', file)).toMatchObject({ code: 0 })
    expect(JSON.parse(readFileSync(file, 'utf8')).records).toMatchObject([{ id, ...told }])
  })
})

describe('subject erase', () => {
  it('does nothing (exit 5) if the list contains a record of another subject', async () => {
    const instance = fakeInstance(cli, 2)
    const stranger = consent({ id: uuid(50), subject_id: `${maria} ` })
    instance.records.set('x', { ...stranger, subject_id: maria })
    Object.defineProperty(instance.records.get('x'), 'toJSON', { value: () => stranger })
    expectExit(await folders.run(...erase, '--yes', '-o', 'json'), 5, { code: 'wrong_subject' })
    expect(instance.deletions).toEqual([])
  })

  it('does not claim that nothing was done when verification finds a record of another subject', async () => {
    const instance = fakeInstance(cli, 2)
    instance.beforeDelete = () => {
      const stranger = { ...consent({ id: uuid(50) }), toJSON: () => consent({ subject_id: 'other' }) }
      instance.records.set(uuid(50), stranger)
      return undefined
    }
    const { code, stderr } = await folders.run(...erase, '--yes')
    expect(code).toBe(5)
    expect(instance.deletions).toHaveLength(2)
    expect(stderr).not.toContain('nothing was done')
  })

  it('--apply does nothing (exit 10) if a planned record was changed, added or deleted', async () => {
    const instance = fakeInstance(cli, 3)
    const plan = join(folders.state, '..', `${Math.random()}.json`)
    expect(await folders.run(...erase, '--plan-out', plan)).toMatchObject({ code: 0 })
    expect(statSync(plan).mode & 0o777).toBe(0o600)
    const apply = () => folders.run('erase', '--apply', plan, '--yes')
    const first = instance.records.get(uuid(1)) as ReturnType<typeof consent>
    instance.records.set(uuid(1), { ...first, accepted: false })
    expect((await apply()).stderr).toContain(`1 changed (${uuid(1)})`)
    instance.records.set(uuid(1), first)
    instance.records.set(uuid(60), consent({ id: uuid(60) }))
    expect((await apply()).stderr).toContain(`1 added (${uuid(60)})`)
    instance.records.delete(uuid(60))
    instance.records.delete(uuid(2))
    expect(await apply()).toMatchObject({ code: 10, stderr: expect.stringContaining(`1 gone (${uuid(2)})`) })
    expect(instance.deletions).toEqual([])
    instance.records.set(uuid(2), consent({ id: uuid(2), site_id: uuid(901) }))
    expect(await apply()).toMatchObject({ code: 0 })
    expect(await lastReceipt(folders)).toMatchObject({
      ticket: 'DSR-7',
      planned_by: { who: expect.any(String) },
    })
  })

  it('--export-first exports the records first, and the receipt names the export', async () => {
    fakeInstance(cli, 2)
    const file = join(folders.state, '..', `${Math.random()}.json`)
    expect(await folders.run(...erase, '--export-first', file, '--yes')).toMatchObject({ code: 0 })
    expect(JSON.parse(readFileSync(file, 'utf8')).records).toHaveLength(2)
    const { sha256 } = JSON.parse(readFileSync(`${file}.manifest.json`, 'utf8'))
    expect(await lastReceipt(folders)).toMatchObject({ export_sha256: sha256 })
  })

  it('leaves no export or plan file if nothing is done', async () => {
    fakeInstance(cli, 3)
    const file = join(folders.state, '..', `${Math.random()}.json`)
    expect(await folders.run(...erase, '--export-first', file, '--confirm', '2')).toMatchObject({ code: 10 })
    writeFileSync(`${file}.manifest.json`, '')
    expect(await folders.run(...erase, '--export-first', file, '--yes')).toMatchObject({ code: 2 })
    expect(existsSync(file)).toBe(false)
  })
})

describe('subject erase, when a record cannot be deleted or is gone', () => {
  it('deletes the others (exit 8), and resume deletes the rest and creates one receipt', async () => {
    const instance = fakeInstance(cli, 20)
    instance.beforeDelete = id => (id === uuid(5) ? fails(500, 'internal_error') : undefined)
    const stopped = await folders.run(...erase, '--yes')
    expect(stopped.code).toBe(8)
    expect(stopped.stderr).toContain('to resume: consentctl subject resume ')
    expect(folders.receipts()).toEqual([])
    expect([...instance.records.keys()]).toEqual([uuid(5)])
    instance.beforeDelete = () => undefined
    const resumed = await folders.run('resume', 'last', '-o', 'json')
    expect(resumed.code, resumed.stderr).toBe(0)
    expect(JSON.parse(resumed.stdout)).toHaveLength(20)
    expect(folders.receipts()).toEqual(['000001.json'])
    expect(folders.journals()).toEqual([])
    const { job, counts } = await lastReceipt(folders)
    expect(counts).toMatchObject({ deleted: 20 })
    expect(await folders.run('resume', job)).toMatchObject({ code: 0 })
    expect(folders.receipts()).toEqual(['000001.json'])
  })

  it('records "unknown" if a response was lost and the record is gone afterwards', async () => {
    const instance = fakeInstance(cli, 4)
    let lost = 0
    instance.beforeDelete = id => {
      if (id !== uuid(2) || lost++ > 0) return undefined
      instance.records.delete(id)
      return fails(502, 'unavailable', 'nobody knows')
    }
    expect(await folders.run(...erase, '--yes')).toMatchObject({ code: 0 })
    expect(await lastReceipt(folders)).toMatchObject({ counts: { deleted: 3, already_gone: 0, unknown: 1 } })
  })

  it('reports a record that was created during the job, in the receipt and by exit 8', async () => {
    const instance = fakeInstance(cli, 4)
    instance.beforeDelete = () => {
      instance.records.set(uuid(70), consent({ id: uuid(70) }))
      return undefined
    }
    expectExit(await folders.run(...erase, '--yes'), 8, uuid(70))
    expect(await lastReceipt(folders)).toMatchObject({
      result: 'remaining',
      verification: { live: 1, remaining: [{ id: uuid(70) }] },
    })
    expect(await folders.run('verify', 'last', '--live', '--subject', maria)).toMatchObject({ code: 10 })
  })

  it('exits with 6 when the quota is used up, and resume continues', async () => {
    const instance = fakeInstance(cli, 20)
    instance.quota = 10
    expectExit(await folders.run(...erase, '--yes'), 6, 'subject resume')
    expect(folders.journals()).toHaveLength(1)
    instance.quota = Number.POSITIVE_INFINITY
    expect(await folders.run('resume', 'last')).toMatchObject({ code: 0 })
    expect(await lastReceipt(folders)).toMatchObject({ counts: { deleted: 20, already_gone: 0 } })
    instance.quota = 0
    expect(await folders.run(...erase, '--yes')).toMatchObject({ code: 6 })
    expect(folders.journals()).toEqual([])
  })

  it('can be resumed only with the profile and instance it was started with', async () => {
    const instance = fakeInstance(cli, 2)
    instance.beforeDelete = () => fails(500, 'internal_error')
    await folders.run(...erase, '--yes')
    const ran = await folders.run('resume', 'last', '--base-url', 'http://127.0.0.1:1')
    expectExit(ran, 2, `--base-url ${cli.instance.url}`)
  })
})

describe('subject erase, when nothing is held', () => {
  it('creates a receipt that says so, with the due date, and the subject in clear text on request', async () => {
    fakeInstance(cli, 0)
    const ran = await folders.run(...erase, '--yes', '--received', '2026-01-31', '--show-subject')
    expectNoStdout(ran, 0, 'no live data held')
    expect(await lastReceipt(folders)).toMatchObject({
      result: 'no_data_held',
      received_at: '2026-01-31',
      due_at: '2026-03-02', // the end of February 2026 is a Saturday
      subjects: [maria],
      records: [],
    })
  })
})

describe('subject erase and resume › rejected arguments', () => {
  it.each([
    [['erase', maria, '--yes'], '--ticket'],
    [['erase', '--ticket', 'T', '--yes'], 'missing identifier'],
    [erase, 'cannot prompt'],
    [['erase', maria, '--apply', 'p.json', '--yes'], 'cannot be used with'],
    [[...erase, '--received', '2126-01-01', '--yes'], 'in the future'],
    [[...erase, '--plan-out', 'p', '--dry-run'], 'cannot be used with'],
    [[...erase, '--yes', '--export-first', 'e', '--out', './e'], 'the same name'],
    [[...erase, '--yes', '--export-first', 'e', '--out', 'e.manifest.json'], 'the same name'],
    [[...erase, '--plan-out', 'p', '--out', 'p'], 'the same name'],
    [['erase', '', '--ticket', 'T', '--yes'], 'must not be empty'],
    [['erase', '--apply', '/nowhere/plan.json', '--yes'], 'no file'],
    [['resume', 'last'], 'no job'],
  ])('rejects %j with exit code 2 before any request', async (args, said) => {
    expectUnsent(cli, await folders.run(...args), said)
  })
})
