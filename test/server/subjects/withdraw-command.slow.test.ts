import { existsSync, readdirSync, writeFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { useProxy } from '../../support/proxy.ts'
import { useService } from '../../support/service.ts'
import { useCommands } from '../requests/commands.ts'

const service = useService()
const maria = 'maria@example.com'

/** Forwards to the service, until a withdrawal that is to fail, whose answer is then lost or which is not sent. */
let fails: (path: string, body: string) => boolean = () => false
const proxy = useProxy(service, ({ url }, body) => fails(url ?? '', body))
const { run, call, inState, inFolder } = useCommands(service, proxy)

const withdraw = (...args: string[]) => run(['withdraw', maria, '--purpose', 'marketing', '--ticket', 'W-1', ...args])
const receiptOf = async (name = 'last') => JSON.parse((await run(['subject', 'receipts', name])).stdout)
const journals = () => (existsSync(inState('erasures')) ? readdirSync(inState('erasures')) : [])

let siteId: string | undefined

/** A record with these preferences, of Maria unless somebody else is named. */
async function create(preferences: object, { subject_id = maria, accepted = true } = {}): Promise<string> {
  const [site] = JSON.parse((await run(['sites', 'list', '--json'])).stdout)
  siteId = site.id
  return (await call('consents', { site_id: site.id, subject_id, accepted, preferences })).body.id
}

const get = async (id: string) => JSON.parse((await run(['get', id, '--json'])).stdout)

const isWithdrawal = (path: string, body: string) => path.endsWith('/withdraw') && !body.includes('"dry_run":true')

describe('withdraw', () => {
  it('shows what is given, turns off exactly that, and signs a receipt with the versions in the chain of erasures', async () => {
    const id = await create({ marketing: true, ads: true })
    const only = await create({ marketing: true })
    const others = [
      await create({}),
      await create({ marketing: false, ads: true }),
      await create({ marketing: true }, { subject_id: 'other' }),
    ]
    const before = await Promise.all(others.map(get))
    const dry = await run(['withdraw', maria, '--purpose', 'marketing', '--dry-run', '--json'])
    expect(dry).toMatchObject({ code: 0, stderr: expect.stringContaining('nothing was changed') })
    expect(JSON.parse(dry.stdout)).toMatchObject([
      { id, result: 'planned', purposes: ['marketing'], before: 1, version: null },
      { id: only, result: 'planned' },
    ])
    expect(await withdraw('--confirm', '3')).toMatchObject({
      code: 10,
      stderr: expect.stringContaining('nothing was changed'),
    })
    const done = await withdraw('--confirm', '2', '--json')
    expect(done).toMatchObject({ code: 0, stderr: expect.stringContaining('withdrew "marketing" in 2 records') })
    expect(JSON.parse(done.stdout)).toMatchObject([
      { id, result: 'withdrawn', accepted: true, before: 1, version: 2, request_id: expect.any(String) },
      { id: only, result: 'withdrawn', accepted: false, before: 1, version: 2 },
    ])
    expect(await get(id)).toMatchObject({ accepted: true, preferences: { marketing: false, ads: true } })
    expect(await Promise.all(others.map(get))).toEqual(before)
    const receipt = await receiptOf('W-1')
    expect(receipt).toMatchObject({
      ...{
        type: 'withdrawal_receipt',
        number: 1,
        ticket: 'W-1',
        purposes: ['marketing'],
        site_id: null,
        subjects: null,
      },
      ...{ result: 'withdrawn', counts: { withdrawn: 2, already_off: 0, gone: 0, unknown: 0 }, answers_lost: 0 },
      verification: { live: 4, not_answered: 1, remaining: [] },
      previous: null,
    })
    expect(JSON.stringify(receipt)).not.toContain(maria)
    expect(journals()).toEqual([])
    expect((await run(['subject', 'erase', 'nobody', '--ticket', 'E', '--confirm', '0'])).code).toBe(0)
    for (const name of ['1', '2'])
      expect(
        await run(['subject', 'verify', name, '--live', '--subject', name === '1' ? maria : 'nobody']),
      ).toMatchObject({ code: 0 })
    expect(await run(['verify', inState('receipts', 'default', '000001.json')])).toMatchObject({ code: 0 })
    expect((await run(['subject', 'receipts', '1', '--format', 'md'])).stdout).toContain('# Withdrawal record 1: W-1')
    expect((await run(['subject', 'receipts', '--subject', maria, '-q'])).stdout).toBe('1\n')
    expect((await run(['subject', 'purge', '1', '--confirm', '0'])).code).toBe(5)
    await call('consents', { site_id: siteId, subject_id: maria, accepted: true, preferences: { marketing: true } })
    expect(await run(['subject', 'verify', '1', '--live', '--subject', maria])).toMatchObject({ code: 10 })
    expect((await run(['subject', 'verify', '1', '--live'])).code).toBe(0)
  })

  it('when nothing is given, signs that, and turns off nothing', async () => {
    const id = await create({ ads: true })
    expect(await withdraw()).toMatchObject({ code: 2, stderr: expect.stringContaining('--yes or --confirm N') })
    expect(await withdraw('--yes')).toMatchObject({ code: 0, stderr: expect.stringContaining('nothing to withdraw') })
    expect(await receiptOf()).toMatchObject({
      result: 'nothing_given',
      records: [],
      verification: { live: 1, not_answered: 1 },
    })
    expect((await run(['history', id, '--json'])).stdout).not.toContain('"updated"')
  })

  it('at a terminal, shows the records and asks; without the typed number it changes nothing (exit 9)', async () => {
    for (let count = 0; count < 2; count += 1) await create({ marketing: true })
    const ask = (stdin: string) =>
      run(['withdraw', maria, '--purpose', 'marketing', '--ticket', 'T'], {
        ...{ stdin, tty: { stdin: true, stdout: true, stderr: true } },
      })
    expect((await ask('\n')).code).toBe(9)
    expect(await ask('2\n')).toMatchObject({
      code: 0,
      stderr: expect.stringContaining('withdrew "marketing" in 2 records'),
    })
  })

  it('when it is stopped before or after the change, resume makes the one receipt, with the versions', async () => {
    const id = await create({ marketing: true, ads: true })
    for (const isSent of [false, true]) {
      if (isSent) await run(['update', id, '--pref', 'marketing=true'])
      fails = (path, body) => {
        if (!isWithdrawal(path, body)) return false
        if (isSent) void call('subjects/withdraw', JSON.parse(body))
        return true
      }
      const stopped = await withdraw('--yes')
      fails = () => false
      expect(stopped).toMatchObject({
        code: 11,
        stderr: expect.stringContaining('to resume: consentctl subject resume'),
      })
      await new Promise(resolve => setTimeout(resolve, 200)) // for the change whose answer is lost
      expect((await withdraw('--dry-run')).stderr).toContain('a withdrawal of this person (W-1) is not finished')
      expect(await run(['subject', 'resume', 'last'])).toMatchObject({ code: 0 })
      expect(await receiptOf()).toMatchObject({
        ...{ number: isSent ? 2 : 1, result: 'withdrawn', counts: { withdrawn: 1 } },
        records: [
          {
            id,
            result: 'withdrawn',
            purposes: ['marketing'],
            ...(isSent ? { before: 3, version: 4 } : { before: 1, version: 2 }),
          },
        ],
      })
    }
    expect((await get(id)).preferences).toEqual({ marketing: false, ads: true })
    expect(journals()).toEqual([])
  })

  it('when a record that grants it is created meanwhile, reports it (exit 8), and the receipt names it', async () => {
    await create({ marketing: true })
    fails = isWithdrawal
    await withdraw('--yes')
    fails = () => false
    const late = await create({ marketing: true })
    expect(await run(['subject', 'resume', 'last'])).toMatchObject({
      ...{ code: 8, stderr: expect.stringContaining(`still given: ${late}`) },
    })
    expect(await receiptOf()).toMatchObject({
      ...{ result: 'still_given', counts: { withdrawn: 1 }, verification: { remaining: [{ id: late }] } },
    })
    expect((await get(late)).preferences).toEqual({ marketing: true })
  })

  it('withdraws for the people of a file, with one confirmation and a receipt each, and once', async () => {
    await create({ marketing: true })
    await create({ marketing: true }, { subject_id: 'second' })
    await create({ marketing: true }, { subject_id: 'alias' })
    const file = inFolder('people.csv')
    writeFileSync(file, `ticket,identifier,identifier_2\nF-1,${maria},\nF-2,second,alias\nF-3,nobody,\n`)
    const done = await run(['withdraw', '--file', file, '--purpose', 'marketing', '--confirm', '3', '--json'])
    expect(done.code, done.stderr).toBe(0)
    expect(JSON.parse(done.stdout)).toMatchObject([
      { ticket: 'F-1', records: 1, result: 'withdrawn', receipt: 1 },
      { ticket: 'F-2', records: 2, result: 'withdrawn', receipt: 2 },
      { ticket: 'F-3', records: 0, result: 'nothing_given', receipt: 3 },
    ])
    expect((await run(['withdraw', '--file', file, '--purpose', 'marketing', '--ticket', 'x', '--yes'])).code).toBe(2)
  })

  it('answers a request of the register, which gets the digest of the receipt', async () => {
    await create({ marketing: true })
    for (const [ticket, kind] of [
      ['R-1', 'withdrawal'],
      ['R-2', 'access'],
      ['R-3', 'restriction'],
    ])
      expect(
        (await run(['requests', 'add', String(ticket), maria, '--kind', String(kind), '--received', '2026-01-31']))
          .code,
      ).toBe(0)
    expect((await run(['requests', 'next'])).stderr).toContain('consentctl withdraw --request R-1 --purpose NAME')
    expect(await run(['withdraw', '--request', 'R-2', '--purpose', 'marketing', '--yes'])).toMatchObject({ code: 2 })
    expect(await run(['subject', 'erase', '--request', 'R-1', '--yes'])).toMatchObject({ code: 2 })
    expect(await run(['withdraw', '--request', 'R-1', '--purpose', 'marketing', '--yes'])).toMatchObject({
      ...{ code: 0, stderr: expect.stringContaining('the register has the digest') },
    })
    const request = JSON.parse((await run(['requests', 'show', 'R-1', '--json'])).stdout)
    expect(request).toMatchObject({ receipts: [{ type: 'withdrawal_receipt' }] })
    expect(await receiptOf()).toMatchObject({ ticket: 'R-1', received_at: '2026-01-31', due_at: '2026-03-02' })
  })

  it('rejects an unknown name of a site (exit 5) and an unknown id (exit 3)', async () => {
    await create({ marketing: true })
    expect((await withdraw('--site', 'no such shop', '--yes')).code).toBe(5)
    expect((await withdraw('--site', '01890000-0000-7000-8000-000000000000', '--yes')).code).toBe(3)
  })
})
