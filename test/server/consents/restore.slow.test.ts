import { setTimeout as delay } from 'node:timers/promises'
import { beforeAll, describe, expect, it } from 'vitest'
import { verifyAudit } from '../../../src/evidence/history.ts'
import { run, useFolder } from '../../support/cli.ts'
import { useService } from '../../support/service.ts'
import { insertChains } from '../purge/chains.ts'
import { purgeNow } from '../purge/purge.ts'
import { verified } from '../verify/verified.ts'
import { instant, newOwner, type Owner } from './records.ts'

const service = useService()
const folder = useFolder()
let owner: Owner
beforeAll(async () => {
  owner = await newOwner(service)
})

const despite = { despite_erasure: true }
const erase = (subject_id: string, own = owner) =>
  service.call('POST', '/api/v1/subjects/erase', { key: own.key, body: { subject_id } })

async function actionsOf(id: string, own = owner): Promise<string[]> {
  return (await own.history(id)).body.data.map(({ action }: { action: string }) => action)
}

/** Expects a sound history, and the database to agree with it. */
async function expectSound(id: string, own = owner) {
  expect(verifyAudit(id, (await own.history(id)).body.data)).toMatchObject({ result: 'ok' })
  expect((await verified(service.sql, { account: own.accountId })).findings).toEqual([])
}

describe('POST /api/v1/consents/{id}/restore › 200', () => {
  it('restores a deleted record unchanged, and shows it in its history and in lists', async () => {
    const own = await newOwner(service)
    const created = await own.create({ subject_id: 'one', accepted: true, preferences: { a: 1 } })
    await own.remove(created.id)
    await delay(2)
    const restored = await own.restore(created.id)
    expect(restored.status, restored.text).toBe(200)
    const { updated_at } = restored.body
    expect(updated_at).toMatch(instant)
    expect(restored.body).toStrictEqual({ ...created, updated_at })
    expect((await own.get(created.id)).body).toStrictEqual(restored.body)
    expect((await own.list({ subject_id: 'one' })).body.data).toEqual([restored.body])
    expect((await own.list({ include_deleted: 'true' })).body.data).toEqual([restored.body])
    const { data } = (await own.history(created.id)).body
    expect(data.at(-1)).toMatchObject({ action: 'restored', created_at: updated_at, accepted: true, version: 3 })
    await expectSound(created.id, own)
    expect((await own.receipt(created.id)).status).toBe(200)
  })

  it('does not change a live record, even when repeated', async () => {
    const created = await owner.create({ accepted: true })
    expect((await owner.restore(created.id, despite)).body).toStrictEqual(created)
    await owner.remove(created.id)
    const first = await owner.restore(created.id)
    const again = await owner.restore(created.id, despite)
    expect([again.status, again.body]).toEqual([200, first.body])
    expect(await actionsOf(created.id)).toEqual(['created', 'deleted', 'restored'])
  })

  it('is written once for 16 concurrent requests, which all get the record', async () => {
    const { id } = await owner.create()
    await owner.remove(id)
    const answers = await Promise.all(Array.from({ length: 16 }, () => owner.restore(id)))
    expect(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size).toBe(1)
    expect(answers[0]?.status).toBe(200)
    expect(await actionsOf(id)).toEqual(['created', 'deleted', 'restored'])
  })

  it('keeps a chain that verifies after each change, deletion, restore and purge', async () => {
    const own = await newOwner(service)
    const { id } = await own.create({ subject_id: 's', accepted: true })
    const changes = [
      () => own.remove(id),
      () => own.restore(id),
      () => own.update(id, { accepted: false }),
      () => erase('s', own),
      () => own.restore(id, despite),
      () => own.remove(id),
      () => own.restore(id),
      () => own.remove(id),
    ]
    for (const change of changes) {
      expect((await change()).status).toBe(200)
      await expectSound(id, own)
    }
    await purgeNow(service.sql)
    expect(await actionsOf(id, own)).toEqual([
      ...['created', 'deleted', 'restored', 'updated', 'deleted', 'restored_despite_erasure'],
      ...['deleted', 'restored', 'deleted', 'purged'],
    ])
    await expectSound(id, own)
  })
})

describe('POST /api/v1/consents/{id}/restore › of a record that an erasure request covers', () => {
  it('returns 409 without despite_erasure, and records restored_despite_erasure with it', async () => {
    const { id } = await owner.create({ subject_id: 'maria' })
    expect((await erase('maria')).body.erased).toBe(1)
    for (const body of [{}, { despite_erasure: false }]) {
      const answer = await owner.restore(id, body)
      expect(answer.status).toBe(409)
      expect(answer.body).toMatchObject({ error: 'conflict', reason: 'erasure_requested' })
    }
    expect(await actionsOf(id)).toEqual(['created', 'deleted'])
    expect((await owner.restore(id, despite)).status).toBe(200)
    expect(await actionsOf(id)).toEqual(['created', 'deleted', 'restored_despite_erasure'])
  })

  it('covers records of the subject that were deleted before, but not those of a dry run or of others', async () => {
    const [own, other] = [await owner.create({ subject_id: 'before' }), await owner.create({ subject_id: 'Before' })]
    for (const { id } of [own, other]) await owner.remove(id)
    const dry_run = { key: owner.key, body: { subject_id: 'before', dry_run: true } }
    await service.call('POST', '/api/v1/subjects/erase', dry_run)
    expect((await owner.restore(own.id)).status).toBe(200)
    await owner.remove(own.id)
    expect((await erase('before')).body).toMatchObject({ erased: 0, deleted: 1 })
    expect((await owner.restore(own.id)).status).toBe(409)
    expect((await owner.restore(other.id)).status).toBe(200)
  })

  it('covers deleted records of identifiers without live ones, if subject erase names them', async () => {
    const own = await newOwner(service)
    const ids = []
    for (const subject_id of ['maria', 'customer-1']) ids.push((await own.create({ subject_id })).id)
    for (const id of ids) await own.remove(id)
    await own.create({ subject_id: 'live' })
    const mark = { key: own.key, body: { subject_id: 'live', ids: [] } }
    const marked = await service.call('POST', '/api/v1/subjects/erase', mark)
    expect(marked.body).toMatchObject({ erased: 0, remaining: 1, complete: true })
    const env = { HOME: folder.path, CONSENTCTL_BASE_URL: service.url, CONSENTCTL_API_KEY: own.key }
    for (const args of [['maria'], ['live', '--also', 'customer-1']]) {
      const erased = await run(['subject', 'erase', ...args, '--ticket', 'T-1', '--yes'], { env })
      expect(erased.code, erased.stderr).toBe(0)
    }
    for (const id of ids) expect((await own.restore(id)).status).toBe(409)
  })

  it('distinguishes a later deletion, which can be restored without it', async () => {
    const { id } = await owner.create({ subject_id: 'twice' })
    await erase('twice')
    await owner.restore(id, despite)
    await owner.remove(id)
    expect((await owner.restore(id)).status).toBe(200)
    expect((await actionsOf(id)).at(-1)).toBe('restored')
  })

  it('detects an erasure while a restore is being written', async () => {
    const { id } = await owner.create({ subject_id: 'race' })
    await owner.remove(id)
    const [restored, erased] = await Promise.all([owner.restore(id), erase('race')])
    const isLive = (await owner.get(id)).status === 200
    expect([restored.status, erased.body.deleted + erased.body.remaining]).toEqual([expect.any(Number), 1])
    expect(isLive).toBe(restored.status === 200 && erased.body.deleted === 0)
  })
})

describe('POST /api/v1/consents/{id}/restore › after the purge', () => {
  it('returns 409 with that reason, from the first statement of a long purge', async () => {
    const own = await newOwner(service)
    const { id } = await own.create({ subject_id: 's' })
    await own.remove(id)
    const [long = ''] = await insertChains(service.sql, own, { records: 1, entries: 20, at: new Date() })
    await purgeNow(service.sql)
    await service.sql`update consents set purged_at = null where id = ${long}`
    for (const each of [id, long]) {
      const answer = await own.restore(each, despite)
      expect(answer.status).toBe(409)
      expect(answer.body).toMatchObject({ error: 'conflict', reason: 'purged' })
    }
  })
})

describe('consentctl restore', () => {
  const cli = (...args: string[]) => {
    const env = { HOME: folder.path, CONSENTCTL_BASE_URL: service.url, CONSENTCTL_API_KEY: owner.key }
    return run(args, { env })
  }

  it('restores erased records only with --despite-erasure, and the receipt shows it', async () => {
    const { id } = await owner.create({ subject_id: 'cli' })
    expect(await cli('subject', 'erase', 'cli', '--ticket', 'T-1', '--yes')).toMatchObject({ code: 0 })
    const live = async () => JSON.parse((await cli('subject', 'verify', 'last', '--live', '-o', 'json')).stdout).at(-1)
    expect(await live()).toMatchObject({ check: 'live', result: 'ok' })
    expect(await cli('restore', id)).toMatchObject({ code: 5, stderr: expect.stringContaining('--despite-erasure') })
    const dry = await cli('restore', id, '--despite-erasure', '--dry-run', '-o', 'json')
    expect(JSON.parse(dry.stdout)).toMatchObject({ method: 'POST', body: despite })
    expect(await live()).toMatchObject({ result: 'ok' })

    expect(await cli('restore', id, '--despite-erasure', '-q')).toEqual({ code: 0, stdout: `${id}\n`, stderr: '' })
    expect(await live()).toMatchObject({ check: 'live', result: 'fail', detail: `1 record live: ${id}` })
    const { stdout } = await cli('history', id, '--columns', 'action', '-o', 'tsv')
    expect(stdout.trim().split('\n')).toEqual(['created', 'deleted', 'restored_despite_erasure'])
    expect(await cli('history', id, '--verify')).toMatchObject({ code: 0 })
  })

  it('restores several records, and exits with 8 if some do not exist', async () => {
    const ids = [(await owner.create()).id, (await owner.create()).id]
    for (const id of ids) await owner.remove(id)
    const missing = '01890000-0000-7000-8000-000000000000'
    const { code, stdout, stderr } = await cli('restore', ...ids, missing, '-o', 'id')
    expect([code, stdout]).toEqual([8, `${ids.join('\n')}\n`])
    expect(stderr).toContain(missing)
    expect(stderr).toContain('restored 2 records on ')
    expect(await cli('restore', missing)).toMatchObject({ code: 3 })
  })
})

describe('a record that an erasure request covers', () => {
  it.each<[what: string, prepare: (own: Owner, id: string) => Promise<unknown>]>([
    ['that deleted it', async () => {}],
    ['that came after its deletion', (own, id) => own.remove(id)],
  ])('is reported when SQL removes the mark of the request %s', async (_, prepare) => {
    const own = await newOwner(service)
    const { id } = await own.create({ subject_id: 'marked' })
    await prepare(own, id)
    expect((await erase('marked', own)).body).toMatchObject({ deleted: 1, complete: true })
    await expectSound(id, own)
    const named = async () => (await verified(service.sql, { account: own.accountId })).findings
    for (const mark of [null, false]) {
      await service.sql`update consent_history set erased = ${mark} where consent_id = ${id} and erased`
      expect((await named()).map(({ consent_id }) => consent_id)).toContain(id)
      await service.sql`update consent_history set erased = true where consent_id = ${id} and version = (
        select version from consents where id = ${id})`
    }
    await service.sql`update consent_history set erased = null where consent_id = ${id}`
    expect((await own.restore(id)).status).toBe(200)
    expect(await named()).not.toEqual([])
    await service.sql`
      update consent_history set erased = true
      where consent_id = ${id} and version = (select version - 1 from consents where id = ${id})`
    expect((await named()).map(({ detail }) => detail)).toEqual(['restored cannot follow an erasure'])
  })
})
