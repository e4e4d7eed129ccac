import { createHash } from 'node:crypto'
import { readFileSync, rmSync } from 'node:fs'
import { beforeEach, describe, expect, it } from 'vitest'
import { documents } from '../../../src/contract/index.ts'
import { useProxy } from '../../support/proxy.ts'
import { useService } from '../../support/service.ts'
import { useCommands } from '../requests/commands.ts'

const service = useService()
const maria = 'maria@example.com'

/** Forwards to the service, except documents to keep while that is to fail. */
let failsToKeep = false
const proxy = useProxy(service, ({ method, url }) => failsToKeep && method === 'POST' && url === documents.keep.path)
const { run, runElsewhere, create, inState, account } = useCommands(service, proxy)

beforeEach(() => {
  failsToKeep = false
})

const subject = (...args: string[]) => run(['subject', ...args])
const elsewhere = (...args: string[]) => runElsewhere(['subject', ...args])
const erase = (ticket: string, ...more: string[]) => subject('erase', maria, '--ticket', ticket, '--yes', ...more)
const rows = ({ stdout }: { stdout: string }) => JSON.parse(stdout)
const bytesOf = (number: number) => readFileSync(inState('receipts', 'default', `00000${number}.json`), 'latin1')
const digestOf = (number: number) => createHash('sha256').update(bytesOf(number)).digest('hex')
const kept = async (): Promise<string[]> => {
  const { body } = await service.call('GET', documents.list.path, { key: account().key })
  return body.data.map(({ sha256 }: { sha256: string }) => sha256)
}

/** As from a backup that was made before the erasures. */
async function restoreBackup(): Promise<void> {
  const { accountId } = account()
  await service.sql`delete from operator_documents where account_id = ${accountId}`
  await service.sql`
    update consents set deleted_at = null, updated_at = created_at where account_id = ${accountId}`
}

describe('erasure records', () => {
  it('are found by a colleague by person, ticket and SHA-256, and verified with the key that the service knows', async () => {
    await create(maria)
    const erased = await erase('DSR-7')
    expect(erased.code, erased.stderr).toBe(0)
    expect(JSON.parse(bytesOf(1))).toMatchObject({ hmac_key: 'account', account_id: account().accountId })
    expect(await kept()).toEqual([digestOf(1)])
    expect(rows(await subject('receipts', '--json'))).toMatchObject([{ number: 1, local: true, kept: true }])

    const found = await elsewhere('receipts', '--subject', maria, '--json')
    expect(rows(found), found.stderr).toMatchObject([
      { number: 1, ticket: 'DSR-7', sha256: digestOf(1), local: false, kept: true, profile: 'default', deleted: 1 },
    ])
    expect(rows(await elsewhere('receipts', '--subject', 'somebody else', '--json'))).toEqual([])
    expect((await elsewhere('receipts', '-q')).stdout).toBe(`${digestOf(1)}\n`)
    for (const wanted of ['DSR-7', digestOf(1), digestOf(1).slice(0, 12)])
      expect((await elsewhere('receipts', wanted)).stdout).toBe(bytesOf(1))
    expect(await elsewhere('receipts', 'DSR-8')).toMatchObject({ code: 3 })

    const verified = await elsewhere('verify', 'DSR-7', '--live', '--subject', maria, '-o', 'json')
    expect(verified.code, verified.stdout).toBe(0)
    expect(rows(verified)).toEqual(
      expect.arrayContaining([
        expect.objectContaining({
          check: 'signature',
          detail: expect.stringMatching(/, which the service knows since /),
        }),
        expect.objectContaining({ check: 'chain', result: 'skip' }),
        expect.objectContaining({ check: 'subject', result: 'ok' }),
      ]),
    )
    const file = inState('receipts', 'default', '000001.json')
    expect(await elsewhere('verify', file)).toMatchObject({ code: 0 })
    expect(await elsewhere('verify', 'DSR-7', '--subject', 'somebody else')).toMatchObject({ code: 5 })
    const plain = await runElsewhere(['verify', file, '-o', 'json'])
    expect(plain.code, plain.stderr).toBe(0)
    expect(JSON.parse(plain.stdout).detail).toMatch(
      /^the key is one that .* knows since .*, without saying who holds it$/,
    )
    expect(await elsewhere('purge', 'DSR-7', '--yes')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('made by another profile or machine'),
    })
  })

  it('when the service cannot keep one, exit as without it, and are sent by the next list', async () => {
    await create(maria)
    failsToKeep = true
    const erased = await erase('DSR-7')
    expect(erased, erased.stderr).toMatchObject({
      code: 0,
      stderr: expect.stringContaining('1 erasure or withdrawal record may be on this machine only'),
    })
    const listed = await subject('receipts', '--json')
    expect([listed.code, ...rows(listed)]).toMatchObject([0, { number: 1, local: true, kept: false }])
    failsToKeep = false
    expect(rows(await subject('receipts', '--json'))).toMatchObject([{ number: 1, kept: true }])
    expect(await kept()).toEqual([digestOf(1)])
  })

  it('of a withdrawal and of several people are kept, and one that shows the subject stays on the machine', async () => {
    await create(maria)
    expect(await run(['withdraw', maria, '--purpose', 'ads', '--ticket', 'W-1', '--yes'])).toMatchObject({ code: 0 })
    expect(await erase('DSR-7', '--show-subject')).toMatchObject({ code: 0 })
    expect(await erase('DSR-8')).toMatchObject({ code: 0 })
    expect(await kept()).toEqual([digestOf(3), digestOf(1)])
    expect(rows(await subject('receipts', '--subject', maria, '--json'))).toMatchObject([
      { number: 3, kept: true },
      { number: 2, kept: false },
      { number: 1, kept: true },
    ])
  })

  it('when a backup was restored, are sent again, and repeated by a colleague', async () => {
    const since = new Date().toISOString()
    await create(maria)
    await create('carol')
    expect(await erase('DSR-7')).toMatchObject({ code: 0 })
    await restoreBackup()
    expect(await elsewhere('erase', '--repeat-since', since, '--yes')).toMatchObject({ code: 0, stdout: '' })
    expect(rows(await subject('receipts', '--json'))).toMatchObject([{ number: 1, kept: true }])
    const again = await elsewhere('erase', '--repeat-since', since, '--confirm', '1')
    expect([again.code, again.stdout], again.stderr).toEqual([0, expect.stringMatching(/^DSR-7\t1\terased\t1\t/)])
    const repeated = JSON.parse((await elsewhere('receipts', '1')).stdout)
    expect(repeated.reason).toMatch(/^repeats receipt 1 of \S+@\S+, whose records were live again$/)
    expect(await kept()).toHaveLength(2)
    expect((await run(['list', '--columns', 'subject_id'])).stdout.trim()).toMatch(/carol/)
    expect((await run(['list', '--columns', 'subject_id'])).stdout.trim()).not.toMatch(/maria/)
    expect(await subject('erase', '--repeat-since', since, '--yes')).toMatchObject({ code: 0, stdout: '' })
  })

  it('when the service is out of reach, are listed from the machine with a warning', async () => {
    await create(maria)
    await erase('DSR-7')
    const { stdout, stderr, code } = await run(['subject', 'receipts', '--json', '--base-url', 'http://127.0.0.1:9'])
    expect([code, rows({ stdout })], stderr).toMatchObject([0, [{ number: 1, kept: null }]])
    expect(stderr).toContain('only the records of this machine are read')
    const about = await run(['subject', 'receipts', '--subject', maria, '--json', '--base-url', 'http://127.0.0.1:9'])
    expect([about.code, rows(about)]).toEqual([8, []])
    expect(about.stderr).toContain('1 receipt may be about anybody, and is left out')
  })

  it('when the profile lost its key, are verified with the key that the service knows', async () => {
    await create(maria)
    await erase('DSR-7')
    rmSync(inState('config', 'receipt-keys', 'default.pem'))
    const { code, stderr, stdout } = await subject('receipts', '--json')
    expect([code, stderr, rows({ stdout })], stderr).toMatchObject([0, '', [{ number: 1, local: true, kept: true }]])
  })
})
