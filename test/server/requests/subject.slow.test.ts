import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { beforeEach, describe, expect, it } from 'vitest'
import { useProxy } from '../../support/proxy.ts'
import { useService } from '../../support/service.ts'
import { useCommands } from './commands.ts'

const service = useService()
const maria = 'maria@example.com'

/** Forwards to the service, except changes of requests while they are to fail. */
let failsChanges = false
const proxy = useProxy(service, ({ method }) => failsChanges && method === 'PATCH')

beforeEach(() => {
  failsChanges = false
})
const { run, create, inFolder, inState } = useCommands(service, proxy)
const subject = (...args: string[]) => run(['subject', ...args])
const add = (ticket: string, kind = 'erasure', ...more: string[]) =>
  run(['requests', 'add', ticket, maria, '--kind', kind, '--received', '2026-01-31', ...more])
const show = async (ticket: string) => JSON.parse((await run(['requests', 'show', ticket, '--json'])).stdout)
const digestOf = (path: string) => createHash('sha256').update(readFileSync(path)).digest('hex')
const receiptPath = (number: number) => inState('receipts', 'default', `00000${number}.json`)
const journals = () => readdirSync(inState('erasures')).filter(name => /^[\da-f-]{36}/.test(name))

describe('subject find and export with --request', () => {
  it('use every identifier in the register, and export adds its manifest to it', async () => {
    await create(maria)
    await create('customer-4711')
    await add('DSR-8', 'access', '--also', 'customer-4711')
    const found = await subject('find', '--request', 'DSR-8', '-q')
    expect(found.stdout.trim().split('\n')).toHaveLength(2)
    const out = inState('maria.json')
    const exported = await subject('export', '--request', 'DSR-8', '--out', out)
    expect(exported).toMatchObject({ code: 0, stderr: expect.stringContaining('requests close DSR-8 --outcome done') })
    expect((await run(['requests', 'next'])).stderr).toContain(
      'once the person has the answer: consentctl requests close DSR-8',
    )
    const { receipts } = await show('DSR-8')
    expect(receipts).toMatchObject([{ type: 'export_manifest', sha256: digestOf(`${out}.manifest.json`) }])
  })

  it('when the register cannot be updated, exit with 8 and print the command that adds the manifest', async () => {
    await create(maria)
    await add('DSR-8', 'access')
    failsChanges = true
    const out = inState('maria.json')
    const exported = await subject('export', '--request', 'DSR-8', '--out', out)
    const command = `requests update DSR-8 --receipt ${out}.manifest.json`
    expect(exported).toMatchObject({ code: 8, stderr: expect.stringContaining(`consentctl ${command}`) })
    failsChanges = false
    expect((await run(command.split(' '))).code).toBe(0)
    expect((await show('DSR-8')).receipts).toMatchObject([{ sha256: digestOf(`${out}.manifest.json`) }])
  })

  it('exit with different codes for an unknown request, a closed one, and one given with identifiers', async () => {
    await add('DSR-8', 'access')
    expect((await subject('find', '--request', 'DSR-99')).code).toBe(3)
    expect((await subject('find', maria, '--request', 'DSR-8')).code).toBe(2)
    expect((await subject('find')).code).toBe(2)
    expect(
      (await run(['requests', 'close', 'DSR-8', '--outcome', 'withdrawn', '--reason', 'late', '--yes'])).code,
    ).toBe(0)
    expect(await subject('find', '--request', 'DSR-8')).toMatchObject({
      code: 5,
      stderr: expect.stringContaining('closed'),
    })
  })
})

describe('subject erase --request', () => {
  it('reads identifiers, ticket and due days from the register, and adds the receipt’s digest to it', async () => {
    await create(maria)
    await create('customer-4711')
    await add('DSR-7', 'erasure', '--also', 'customer-4711')
    const erased = await subject('erase', '--request', 'DSR-7', '--confirm', '2')
    expect(erased).toMatchObject({ code: 0, stderr: expect.stringContaining('the register has the digest') })
    const receipt = JSON.parse((await subject('receipts', 'DSR-7')).stdout)
    expect(receipt).toMatchObject({ ticket: 'DSR-7', received_at: '2026-01-31', due_at: '2026-03-02' })
    expect((await show('DSR-7')).receipts).toMatchObject([
      { type: 'erasure_receipt', sha256: digestOf(receiptPath(1)) },
    ])
    expect(journals()).toEqual([])
    expect((await subject('verify', 'last', '--live')).code).toBe(0)
  })

  it('when the register cannot be updated, keeps its exit code and receipt, and resume updates it', async () => {
    await create(maria)
    await add('DSR-7')
    failsChanges = true
    const erased = await subject('erase', '--request', 'DSR-7', '--confirm', '1')
    const [, job = ''] = /consentctl subject resume ([\da-f-]{36})/.exec(erased.stderr) ?? []
    expect(erased).toMatchObject({
      code: 0,
      stderr: expect.stringContaining('the erasure is done, but its receipt’s digest'),
    })
    const digest = digestOf(receiptPath(1))
    expect((await subject('receipts')).stderr).toContain('its receipt is not in the register')
    expect((await subject('resume', job)).code).toBe(7)
    expect((await subject('purge', 'last', '--confirm', '1')).code).toBe(0) // its receipt has the same job
    failsChanges = false
    expect((await subject('resume', 'last')).code).toBe(0)
    expect((await show('DSR-7')).receipts).toMatchObject([{ sha256: digest }])
    expect([journals(), (await subject('receipts', '-q')).stdout]).toEqual([[], '2\n1\n'])
  })

  it('when another person carries out the plan, also adds a receipt stating that nothing is held', async () => {
    await add('DSR-7')
    const plan = inFolder('plan.json')
    expect((await subject('erase', '--request', 'DSR-7', '--plan-out', plan)).code).toBe(0)
    expect((await subject('erase', '--apply', plan, '--request', 'DSR-7', '--confirm', '0')).code).toBe(2)
    expect((await subject('erase', '--apply', plan, '--confirm', '0')).code).toBe(0)
    expect((await show('DSR-7')).receipts).toMatchObject([{ sha256: digestOf(receiptPath(1)) }])
    expect(journals()).toEqual([])
  })

  it('rejects a request for access, and flags whose values are in the register', async () => {
    await create(maria)
    await add('DSR-8', 'access')
    await add('DSR-7')
    const refused = await subject('erase', '--request', 'DSR-8', '--confirm', '1')
    expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining('a request for access') })
    for (const flag of [
      ['--ticket', 'DSR-7'],
      ['--received', '2026-01-01'],
      ['--also', 'customer-4711'],
    ])
      expect((await subject('erase', '--request', 'DSR-7', ...flag, '--confirm', '1')).code).toBe(2)
    expect((await subject('find', maria, '-q')).stdout).not.toBe('')
  })
})

describe('subject erase -', () => {
  it('states that stdin describes one person, and rejects more than 20 identifiers without --one-person', async () => {
    await create(maria)
    const erase = (lines: number, ...flags: string[]) => {
      const stdin = [maria, ...Array.from({ length: lines - 1 }, (_, index) => `customer-${index}`)].join('\n')
      return run(['subject', 'erase', '-', '--ticket', 'DSR-7', '--confirm', '1', ...flags], { stdin })
    }
    expect(await erase(21)).toMatchObject({ code: 2, stderr: expect.stringContaining('--one-person') })
    expect(await erase(21, '--one-person')).toMatchObject({
      code: 0,
      stderr: expect.stringContaining('stdin has 21 identifiers of one person'),
    })
  })
})

describe('subject receipts', () => {
  it('finds receipts by ticket: prints the newest, and lists all with --ticket', async () => {
    for (const count of ['1', '0']) {
      if (count === '1') await create(maria)
      await subject('erase', maria, '--ticket', 'DSR-7', '--confirm', count)
    }
    await subject('erase', 'other', '--ticket', '1', '--confirm', '0')
    const printed = await subject('receipts', 'DSR-7')
    expect(JSON.parse(printed.stdout).number).toBe(2)
    expect(printed.stderr).toContain('2 receipts have this ticket')
    expect((await subject('receipts', '--ticket', 'DSR-7', '-q')).stdout).toBe('2\n1\n')
    expect((await subject('receipts', '--ticket', '1', '-q')).stdout).toBe('3\n')
    expect((await subject('receipts', 'DSR-99')).code).toBe(3)
  })
})
