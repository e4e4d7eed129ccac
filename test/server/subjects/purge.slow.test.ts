import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { verifyAudit } from '../../../src/evidence/history.ts'
import { run, useFolder } from '../../support/cli.ts'
import { useService } from '../../support/service.ts'
import { newOwner, type Owner } from '../consents/records.ts'
import { insertChains } from '../purge/chains.ts'
import { verified } from '../verify/verified.ts'

const service = useService()
const folder = useFolder()
let owner: Owner
beforeAll(async () => {
  owner = await newOwner(service)
})

const purge = (body: object, own = owner) => service.call('POST', '/api/v1/subjects/purge', { key: own.key, body })

describe('POST /api/v1/subjects/purge', () => {
  it('purges those of the given records that are deleted, as the caller, and certifies them', async () => {
    const [gone, live, other] = [await owner.create(), await owner.create(), await owner.create()]
    for (const { id } of [gone, other]) await owner.remove(id)
    const foreign = await (await newOwner(service)).create()
    const ids = [gone.id, live.id, foreign.id]
    const preview = await purge({ ids, dry_run: true })
    const states = (body: { records: { id: string; state: string }[] }) => body.records.map(({ state }) => state)
    expect([states(preview.body), preview.body.certificate]).toEqual([['deleted', 'live'], null])
    expect(preview.body).toMatchObject({ complete: false, dry_run: true })

    const answer = await purge({ ids })
    expect(answer.status, answer.text).toBe(200)
    expect(states(answer.body)).toEqual(['purged', 'live'])
    expect(answer.body).toMatchObject({ complete: true, dry_run: false })
    expect(JSON.parse(answer.body.certificate).records).toMatchObject([{ id: gone.id }])
    const { data } = (await owner.history(gone.id)).body
    expect(data.at(-1)).toMatchObject({ action: 'purged', changed_by: 'api_key', actor_id: owner.keyId })
    expect(verifyAudit(gone.id, data)).toMatchObject({ result: 'ok' })
    expect((await owner.history(other.id)).body.data.at(-1).action).toBe('deleted')
    expect((await verified(service.sql, { account: owner.accountId })).findings).toEqual([])
    expect(states((await purge({ ids })).body)).toEqual(['purged', 'live'])
  })

  it('purges 1,000 records in as many calls as needed, and skips one that does not verify', async () => {
    const own = await newOwner(service)
    const ids = await insertChains(service.sql, own, { records: 1000, entries: 3 })
    const broken = ids[500] ?? ''
    await service.sql`update consent_history set accepted = not accepted where consent_id = ${broken} and version = 2`
    let answer = await purge({ ids }, own)
    for (let calls = 1; calls < 20 && !answer.body.complete; calls += 1) answer = await purge({ ids }, own)
    const left = answer.body.records.filter(({ state }: { state: string }) => state !== 'purged')
    expect(left).toMatchObject([{ id: broken, state: 'unverified' }])
  })
})

describe('consentctl subject purge', () => {
  const cli = (...args: string[]) => {
    const env = { HOME: folder.path, CONSENTCTL_BASE_URL: service.url, CONSENTCTL_API_KEY: owner.key }
    return run(args, { env })
  }
  const verify = async (...args: string[]) => {
    const { code, stdout } = await cli('subject', 'verify', ...args, '-o', 'json')
    return { code, checks: Object.fromEntries(JSON.parse(stdout).map((row: { check: string }) => [row.check, row])) }
  }

  it('purges exactly the records that the receipt deleted, and chains a receipt of the purge to it', async () => {
    const before = await owner.create({ subject_id: 'cli' })
    await owner.remove(before.id)
    const { id } = await owner.create({ subject_id: 'cli' })
    expect(await cli('subject', 'erase', 'cli', '--ticket', 'T-1', '--yes')).toMatchObject({ code: 0 })
    expect(await cli('subject', 'purge', 'last')).toMatchObject({ code: 2, stderr: expect.stringContaining('--yes') })
    const dry = await cli('subject', 'purge', 'last', '--dry-run')
    expect([dry.code, dry.stdout]).toEqual([0, `${id}\t${owner.siteId}\tdeleted\n`])
    expect(dry.stderr).toContain('would purge 1 record on ')
    expect(await cli('subject', 'purge', 'last', '--confirm', '2')).toMatchObject({ code: 10, stdout: '' })
    expect((await verify('last', '--purged')).code).toBe(10)

    const done = await cli('subject', 'purge', 'last', '--confirm', '1')
    expect([done.code, done.stdout]).toEqual([0, `${id}\t${owner.siteId}\tpurged\n`])
    expect(done.stderr).toContain('receipt 2: ')
    expect((await owner.history(before.id)).body.data.at(-1).action).toBe('deleted')
    expect(await verify('last', '--live', '--purged')).toMatchObject({ code: 0, checks: { purged: { result: 'ok' } } })
    const { stderr } = await cli('subject', 'verify', 'last', '--live')
    expect(stderr).toContain('consentctl subject verify last --purged')
    const receipt = JSON.parse((await cli('subject', 'receipts', 'last')).stdout)
    expect(receipt).toMatchObject({
      number: 2,
      previous: { number: 1 },
      ticket: 'T-1',
      records: [{ id }],
      purge: { receipt: { number: 1 }, certificates: [expect.stringContaining(id)] },
    })
    expect(receipt.purge.receipt.sha256).toBe(receipt.previous.sha256)
    const [{ purged_at }] = JSON.parse(receipt.purge.certificates[0]).records
    const statement = `ersonal data of 1 record purged by ${purged_at}, certified by the service; what is left is pseudonymous; backups, write-ahead logs and free space of the database are not covered`
    expect(receipt.statement).toBe(`p${statement}`)
    const page = (await cli('subject', 'receipts', '2', '--format', 'md')).stdout.split('\n\n')
    expect(page[0]).toBe('# Purge record 2: T-1')
    expect(page[1]).toBe(`P${statement}. Apart from the purge, this page repeats erasure record 1, and is of its time.`)
    expect(page.join('')).not.toMatch(/to be purged|until they are purged/)
    const [erased, purged] = await Promise.all(
      ['1', '2'].map(async number => {
        const path = join(folder.path, `${number}.json`)
        writeFileSync(path, (await cli('subject', 'receipts', number)).stdout)
        return JSON.parse((await cli('verify', path, '-o', 'json')).stdout)
      }),
    )
    expect(erased).toMatchObject({ issued_at: receipt.finished_at, detail: 'the key is that of the profile default' })
    expect(purged).toMatchObject({
      result: 'valid',
      issued_at: receipt.purge.finished_at,
      detail: `the key is that of the profile default; it is the receipt of a purge, and says: p${statement}`,
    })
    const list = JSON.parse((await cli('subject', 'receipts', '--ticket', 'T-1', '--json')).stdout)
    expect(list).toMatchObject([
      { number: 2, finished_at: receipt.purge.finished_at, result: 'purged' },
      { number: 1, finished_at: receipt.finished_at, result: 'erased' },
    ])
    expect((await verify('last')).checks['form'].detail).toContain('receipt 2 of a purge, for T-1, job ')
    expect(await cli('restore', id, '--despite-erasure')).toMatchObject({ code: 5 })

    const again = await cli('subject', 'purge', '1', '--confirm', '0')
    expect(again).toMatchObject({ code: 0, stderr: expect.stringContaining('receipt 2: ') })
  })

  it('when repeated after a run that was killed before its receipt, completes with one receipt', async () => {
    const { id } = await owner.create({ subject_id: 'killed' })
    expect(await cli('subject', 'erase', 'killed', '--ticket', 'T-3', '--yes')).toMatchObject({ code: 0 })
    expect((await purge({ ids: [id] })).body.complete).toBe(true)
    const finished = await cli('subject', 'purge', 'last', '--confirm', '1')
    expect([finished.code, finished.stdout]).toEqual([0, `${id}\t${owner.siteId}\tpurged\n`])
    const [receipt] = /receipt \d+: .*/.exec(finished.stderr) ?? ['none']
    const again = await cli('subject', 'purge', 'last', '--confirm', '1')
    expect([again.code, again.stderr]).toEqual([0, expect.stringContaining(receipt)])
  })

  it('purges nothing if a record is live again', async () => {
    const [first, second] = [await owner.create({ subject_id: 'back' }), await owner.create({ subject_id: 'back' })]
    await cli('subject', 'erase', 'back', '--ticket', 'T-2', '--yes')
    await owner.restore(first.id, { despite_erasure: true })
    const { code, stderr } = await cli('subject', 'purge', 'last', '--yes')
    expect([code, stderr]).toEqual([10, expect.stringContaining(`1 record of the receipt live again: ${first.id}`)])
    expect((await owner.history(second.id)).body.data.at(-1).action).toBe('deleted')
  })
})
