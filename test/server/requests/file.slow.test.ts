import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { beforeEach, describe, expect, it } from 'vitest'
import { useProxy } from '../../support/proxy.ts'
import { useService } from '../../support/service.ts'
import { useCommands } from './commands.ts'

const service = useService()

/** Forwards to the service; `intercept` may answer an erasure in its place with 503. */
let intercept: (subject: string) => boolean = () => false
const proxy = useProxy(service, ({ url }, body) => {
  if (url !== '/api/v1/subjects/erase') return false
  const { subject_id, dry_run } = JSON.parse(body)
  return !dry_run && intercept(subject_id)
})

const { run, create, inState } = useCommands(service, proxy)
beforeEach(() => {
  intercept = () => false
  mkdirSync(inState())
})
const file = (content: string | Uint8Array) => {
  const path = inState('requests.csv')
  writeFileSync(path, content)
  return path
}
const erase = (path: string, ...flags: string[]) => run(['subject', 'erase', '--file', path, ...flags])
const live = async () => (await run(['list', '-o', 'json'])).stdout
const rows = (stdout: string) =>
  stdout
    .replace(/\n$/, '')
    .split('\n')
    .map(line => line.split('\t').slice(0, 4))
const left = (kind: string) => (existsSync(inState(kind)) ? readdirSync(inState(kind)) : [])
const receipts = async () => (await run(['subject', 'receipts', '--columns', 'ticket,number'])).stdout

const three = 'ticket,received,identifier,identifier_2\nDSR-1,2026-01-31,ada,customer-1\nDSR-2,,bob,\nDSR-3,,nobody,\n'

describe('subject erase --file', () => {
  it('erases several people with one plan and one confirmation, with one receipt each', async () => {
    for (const subject of ['ada', 'ada', 'customer-1', 'bob', 'other']) await create(subject)
    const path = file(three)
    const planned = await erase(path, '--dry-run')
    expect(rows(planned.stdout)).toEqual([
      ['DSR-1', '3', 'planned', ''],
      ['DSR-2', '1', 'planned', ''],
      ['DSR-3', '0', 'planned', ''],
    ])
    expect(planned.stderr).toContain('3 people, 4 records')
    expect(await erase(path, '--confirm', '5')).toMatchObject({ code: 10, stdout: '' })
    expect((await erase(path)).code).toBe(2)
    const erased = await erase(path, '--confirm', '4')
    expect([erased.code, ...rows(erased.stdout)]).toEqual([
      0,
      ['DSR-1', '3', 'erased', '1'],
      ['DSR-2', '1', 'erased', '2'],
      ['DSR-3', '0', 'no_data_held', '3'],
    ])
    expect(JSON.parse(await live()).map((each: { subject_id: string }) => each.subject_id)).toEqual(['other'])
    const first = JSON.parse((await run(['subject', 'receipts', 'DSR-1'])).stdout)
    expect(first).toMatchObject({ received_at: '2026-01-31', due_at: '2026-03-02', counts: { deleted: 3 } })
    for (const number of ['1', '2', '3']) expect((await run(['subject', 'verify', number, '--live'])).code).toBe(0)
    expect(left('erasures')).toEqual([])
  })

  it('leaves out people whom a legal hold protects (exit 8), and begins no job if it protects all', async () => {
    for (const subject of ['ada', 'bob']) await create(subject)
    const hold = (subject: string) => run(['hold', 'add', subject, '--reason', 'a claim', '--until', '2d'])
    expect((await hold('customer-1')).code).toBe(0)
    const path = file(three)
    expect((await erase(path, '--dry-run')).stderr).toMatch(/DSR-1: a legal hold keeps .* a claim; left out/)
    const erased = await erase(path, '--confirm', '1')
    expect([erased.code, ...rows(erased.stdout)]).toEqual([
      8,
      ['DSR-2', '1', 'erased', '1'],
      ['DSR-3', '0', 'no_data_held', '2'],
    ])
    for (const subject of ['bob', 'nobody']) await hold(subject)
    expect(await erase(path, '--confirm', '0')).toMatchObject({ code: 8, stdout: '' })
    expect(left('erasures')).toEqual([])
    expect(JSON.parse(await live()).map((each: { subject_id: string }) => each.subject_id)).toEqual(['ada'])
  })

  it('accepts the typed total as confirmation', async () => {
    for (const subject of ['ada', 'bob']) await create(subject)
    const args = ['subject', 'erase', '--file', file(three)]
    const tty = { stdin: true, stderr: true }
    expect(await run(args, { tty, stdin: '3\n' })).toMatchObject({ code: 9 })
    const erased = await run(args, { tty, stdin: '2\n' })
    expect(erased).toMatchObject({ code: 0, stderr: expect.stringContaining('Type 2 to erase these records') })
  })

  it('reads spreadsheet files, and looks up people without identifiers in the register', async () => {
    for (const subject of ['ada', 'bob']) await create(subject)
    await run(['requests', 'add', 'DSR-2', 'bob', '--kind', 'erasure', '--received', '2026-01-31'])
    const text =
      '\ufeffTicket;Received;Reason;Identifier\r\nDSR-1;2026-02-01;"by ""post""\nand mail";ada\r\nDSR-2;;;\r\n'
    const erased = await erase(file(Buffer.from(text, 'utf16le')), '--confirm', '2')
    expect([erased.code, erased.stderr]).toEqual([0, expect.stringContaining('the register has the digest')])
    const path = inState('receipts', 'default', '000002.json')
    const digest = createHash('sha256').update(readFileSync(path)).digest('hex')
    const shown = JSON.parse((await run(['requests', 'show', 'DSR-2', '--json'])).stdout)
    expect(shown.receipts).toMatchObject([{ sha256: digest }])
    expect(JSON.parse((await run(['subject', 'receipts', 'DSR-1'])).stdout).reason).toBe('by "post"\nand mail')
  })

  it.each([
    ['an unknown column, which could name another person', 'ticket,name\nDSR-1,ada\n', 'unknown column "name"'],
    ['no column of tickets', 'identifier\nada\n', 'there is no column ticket'],
    ['an empty ticket', 'ticket,identifier\n,ada\n', 'line 2: ticket must not be empty'],
    ['a ticket twice', 'ticket,identifier\nDSR-1,ada\nDSR-1,bob\n', 'line 3 repeats the ticket DSR-1 of line 2'],
    ['an identifier twice', 'ticket,identifier\nDSR-1,ada\nDSR-2,ada\n', 'line 3 repeats the identifier ada of line 2'],
    ['a day that does not exist', 'ticket,received,identifier\nDSR-1,2026-02-30,ada\n', 'line 2: invalid time'],
    ['a day in the future', 'ticket,received,identifier\nDSR-1,2999-01-01,ada\n', 'is in the future: 2999-01-01'],
    ['a header in UTF-16 without a mark', 'ticket\0,identifier\nDSR-1,ada\n', 'line 1: the header is UTF-16'],
    ['more cells than columns', 'ticket,identifier\nDSR-1,ada,bob\n', 'line 2 has 3 cells, and the header 2'],
    ['a file without data rows', 'ticket,identifier\n', 'has no data rows'],
    ['a ticket that the register does not have', 'ticket\nDSR-99\n', 'line 2: the register has no request DSR-99'],
  ])('rejects %s before anything is erased', async (_, text, message) => {
    await create('ada')
    const refused = await erase(file(text), '--yes')
    expect(refused).toMatchObject({ stdout: '', stderr: expect.stringContaining(message) })
    expect(refused.code).toBe(message.includes('no request DSR-99') ? 3 : 5)
    expect(JSON.parse(await live())).toHaveLength(1)
  })

  it('exits with a usage error when given flags for a single person', async () => {
    for (const flag of [['--ticket', 'DSR-1'], ['--also', 'x'], ['--plan-out', inState('plan')], ['--one-person']])
      expect((await erase(file(three), ...flag, '--yes')).code).toBe(2)
  })

  it('stops if all others would fail too, and resume continues the file with one receipt per person', async () => {
    for (const subject of ['ada', 'bob', 'nobody']) await create(subject)
    intercept = subject => subject === 'bob'
    const stopped = await erase(file(three), '--confirm', '3')
    expect([stopped.code, stopped.stderr]).toEqual([8, expect.stringContaining('2 of 3 people not finished')])
    expect(await receipts()).toBe('DSR-1\t1\n')
    expect((await run(['subject', 'receipts'])).stderr).toContain('(3 people) is not finished')
    expect((await run(['subject', 'resume', 'last'])).code).toBe(8)
    intercept = () => false
    const resumed = await run(['subject', 'resume', 'last'])
    expect([resumed.code, ...rows(resumed.stdout)]).toEqual([
      0,
      ['DSR-2', '1', 'erased', '2'],
      ['DSR-3', '1', 'erased', '3'],
    ])
    expect(await receipts()).toBe('DSR-3\t3\nDSR-2\t2\nDSR-1\t1\n')
    expect(left('erasures')).toEqual([])
  })
})
