import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { HttpResponse, http } from 'msw'
import { beforeEach, describe, expect, it } from 'vitest'
import { rejectOnlyNear } from '../../../src/commands/subject/near.ts'
import { consent, expectExit, expectNoStdout, fails, useCli, uuid } from '../support.ts'
import { fakeInstance, freshFolders, lastReceipt, maria } from './fake-instance.ts'

const cli = useCli()
let folders: ReturnType<typeof freshFolders>
beforeEach(() => {
  folders = freshFolders(cli)
})
const path = '/api/v1/subjects/near-matches'
const near = 'Maria@Example.com '
const erase = ['erase', maria, '--ticket', 'T-1']

/** An instance that finds near matches; `count` records of Maria, and one of the near match. */
function instance(count: number) {
  const fake = fakeInstance(cli, count)
  fake.records.set(uuid(77), consent({ id: uuid(77), subject_id: near }))
  cli.instance.use(
    http.get('*/api/v1/openapi.json', () => HttpResponse.json({ paths: { [path]: { post: {} } } })),
    http.post(`*${path}`, async ({ request }) => {
      const { subject_id } = (await request.json()) as { subject_id: string }
      const isNear = subject_id.trim().toLowerCase() === maria && subject_id !== near && fake.records.has(uuid(77))
      return HttpResponse.json({ total: 1, data: isNear ? [{ subject_id: near, live: 1, deleted: 0 }] : [] })
    }),
  )
  return fake
}

describe('subject find --like', () => {
  it('also lists the records of near matches, and marks them', async () => {
    instance(2)
    const { code, stdout, stderr } = await folders.run('find', maria, '--like', '-o', 'json')
    const rows = JSON.parse(stdout) as Record<string, string>[]
    expect(rows.map(({ id, subject_id, match }) => [id, subject_id, match])).toEqual([
      [uuid(1), maria, 'exact'],
      [uuid(2), maria, 'exact'],
      [uuid(77), near, 'near'],
    ])
    expect(code).toBe(0)
    expect(stderr).toContain(`near match of ${maria}: '${near}', 1 live and 0 deleted\n`)
  })

  it('when it is omitted, lists only exact matches, without the column match', async () => {
    instance(1)
    const { stdout } = await folders.run('find', maria, '--header')
    expect(stdout.split('\n')[0]).toMatch(/\tstate$/)
    expect(stdout).not.toContain(uuid(77))
  })

  it.each([0, 1])('is suggested if there are near matches, with %i exact matches', async count => {
    const fake = instance(count)
    const told = `1 near match, with another case, blanks or Unicode form: --like
kept of records purged before: not known, because sealed proofs cannot be listed
`
    const { code, stderr } = await folders.run('find', maria)
    expect([code, stderr.endsWith(told)]).toEqual([0, true])
    fake.records.delete(uuid(77))
    expect((await folders.run('find', maria)).stderr).not.toContain('--like')
    fakeInstance(cli, count)
    expect((await folders.run('find', maria)).stderr).not.toContain('--like')
  })

  it('is rejected (exit 2, not_offered) if the instance cannot find near matches', async () => {
    fakeInstance(cli, 1)
    expectNoStdout(await folders.run('find', maria, '--like', '-o', 'json'), 2, { code: 'not_offered' })
  })
})

describe('subject export', () => {
  it.each([0, 2])('names the near matches that it omits, with %i exact matches', async count => {
    instance(count)
    const [first, second] = ['first.json', 'second.json'].map(name =>
      join(folders.state, '..', `${count}-${name}`),
    ) as [string, string]
    const ran = await folders.run('export', maria, '--out', first)
    expectExit(ran, 0, `to include it: --also '${near}'\n`, 'identifiers are exported, and none of 1 near match\n')
    const whole = await folders.run('export', maria, '--also', near, '--out', second)
    expect([whole.code, whole.stderr.includes('near match')]).toEqual([0, false])
  })
})

describe('subject erase', () => {
  it('names near matches, erases only exact ones, and counts them in the receipt', async () => {
    const fake = instance(2)
    const { code, stderr } = await folders.run(...erase, '--yes')
    expect(code).toBe(0)
    expect(stderr).toContain(`'${near}', 1 live and 0 deleted\n`)
    expect(stderr).toContain(`to include it: --also '${near}'\n`)
    expect(stderr).toContain('only records with exactly the given identifiers are erased, and none of 1 near match')
    expect(fake.deletions).toEqual([uuid(1), uuid(2)])
    expect(await lastReceipt(folders)).toMatchObject({ result: 'erased', near_matches: 1 })
    expect((await folders.run('verify', 'last')).code).toBe(0)
    expect((await folders.run('receipts', 'last', '--format', 'md')).stdout).toContain('Near matches: 1,')
  })

  it('erases a near match that --also names', async () => {
    const fake = instance(1)
    expect((await folders.run(...erase, '--also', near, '--yes')).code).toBe(0)
    expect(fake.deletions).toEqual([uuid(1), uuid(77)])
    expect(await lastReceipt(folders)).toMatchObject({ result: 'erased', near_matches: 0 })
  })

  it('when there are only near matches, --yes exits with 5 and --confirm 0 creates a receipt', async () => {
    instance(0)
    expectExit(await folders.run(...erase, '--yes', '--json'), 5, '"near_matches"', `--also '${near}', or --confirm 0`)
    expect(folders.receipts()).toEqual([])
    const confirmed = await folders.run(...erase, '--confirm', '0')
    expect(confirmed.code).toBe(0)
    expect(confirmed.stderr).toContain('1 near match with records not part of this')
    expect(await lastReceipt(folders)).toMatchObject({ result: 'no_data_held', near_matches: 1 })
  })

  it('when a person of a file has only near matches, exits with 5, even if the total is confirmed', async () => {
    const fake = instance(0)
    fake.records.set(uuid(2), consent({ id: uuid(2), subject_id: 'ada' }))
    const args = ['subject', 'erase', '--file', '-', '--confirm', '1']
    const stdin = `ticket,identifier\nDSR-1,ada\nDSR-2,${maria}\n`
    const { code, stderr } = await cli.run(args, { env: folders.env, stdin })
    expect([code, folders.receipts(), fake.deletions]).toEqual([5, [], []])
    expect(stderr).toContain('DSR-2: no record has exactly this identifier')
    expect(stderr).toContain(`to include it: add '${near}' to the line of DSR-2\n`)
    const alone = { env: folders.env, stdin: `ticket,identifier\nDSR-2,${maria}\n` }
    expect((await cli.run([...args.slice(0, -1), '0'], alone)).code).toBe(0)
  })

  it.each([
    [false, 2, 'use --also n0 --also n1, or'],
    [true, 2, 'add n0 and n1 to the line of T, or'],
    [false, 12, '--also n9 (and 2 more), or'],
  ])('lists every near match that it omits, or how many more there are (of a file: %s, %i)', (isLine, count, hint) => {
    const matches = Array.from({ length: count }, (_, n) => ({ given: 'N', subject_id: `n${n}`, live: 1, deleted: 0 }))
    const reject = () => rejectOnlyNear({ globals: {} }, { ticket: 'T', subjects: ['N'], isLine }, matches)
    expect(reject).toThrow(expect.objectContaining({ hint: expect.stringContaining(hint) }))
  })

  it('on a terminal, shows near matches before it prompts for a receipt that nothing is held', async () => {
    instance(0)
    const { code, stderr } = await cli.run(['subject', ...erase], {
      env: folders.env,
      tty: { stdin: true, stderr: true },
      stdin: '\n',
    })
    expect(code).toBe(9)
    expect(stderr.indexOf('near match of')).toBeLessThan(stderr.indexOf('Make a receipt that nothing is held?'))
    expect(folders.receipts()).toEqual([])
  })
})

describe('an identifier without records alongside one with records', () => {
  const unfound = 'no live record of typo@x was found: check the spelling\n'
  const count = (stderr: string) => stderr.split(unfound).length - 1

  it.each([
    ['the plan', ['--dry-run'], 1],
    ['the plan and the output', ['--confirm', '2'], 2],
  ])('is named by subject erase in %s', async (_, flags, times) => {
    fakeInstance(cli, 2)
    const erased = await folders.run('erase', maria, '--also', 'typo@x', '--ticket', 'T', ...flags)
    expect([erased.code, count(erased.stderr)]).toEqual([0, times])
  })

  it('is named before the prompt, in a written plan, and by subject resume', async () => {
    const instance = fakeInstance(cli, 2)
    const args = ['erase', maria, '--also', 'typo@x', '--ticket', 'T']
    const tty = { stdin: true, stderr: true }
    const env = { ...cli.env(), ...folders.env }
    const declined = await cli.run(['subject', ...args], { env, tty, stdin: 'no\n' })
    expect([declined.code, count(declined.stderr.split('Type 2')[0] ?? '')]).toEqual([9, 1])
    mkdirSync(folders.state, { recursive: true })
    const planned = await folders.run(...args, '--plan-out', join(folders.state, 'plan.json'))
    expect([planned.code, count(planned.stderr)]).toEqual([0, 1])
    instance.beforeDelete = () => fails(503, 'unavailable')
    expect((await folders.run(...args, '--yes', '--max-wait', '0')).code).not.toBe(0)
    instance.beforeDelete = () => undefined
    const resumed = await folders.run('resume', 'last')
    expect([resumed.code, count(resumed.stderr)]).toEqual([0, 1])
  })

  it('is named with the ticket of its line by subject erase --file', async () => {
    fakeInstance(cli, 2)
    mkdirSync(folders.state, { recursive: true })
    const file = join(folders.state, 'requests.csv')
    writeFileSync(file, `ticket,identifier,identifier_2\nDSR-1,${maria},typo@x\nDSR-2,nobody,\n`)
    const { code, stderr } = await folders.run('erase', '--file', file, '--confirm', '2')
    expect([code, count(stderr)]).toEqual([0, 2])
    expect(stderr).toContain(`DSR-1: ${unfound}`)
    expect(stderr).not.toContain('of nobody')
  })
})
