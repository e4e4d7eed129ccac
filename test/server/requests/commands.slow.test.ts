import { describe, expect, it } from 'vitest'
import { useService } from '../../support/service.ts'
import { sealSince } from '../subjects/fixtures.ts'
import { verified } from '../verify/verified.ts'
import { useCommands } from './commands.ts'

const service = useService()
const maria = 'maria@example.com'
const day = (offset: number) => new Date(Date.now() + offset * 86_400_000).toISOString().slice(0, 10)

const { run, create, call, inFolder, account } = useCommands(service)
const requests = (...args: string[]) => run(['requests', ...args])
const add = (ticket: string, ...more: string[]) => requests('add', ticket, maria, '--kind', 'erasure', ...more)
const late = ['--received', '2026-01-31']

describe('requests add', () => {
  it('prints the request with its due day, and changes nothing when repeated', async () => {
    const made = await add('DSR-7', ...late, '--assignee', 'privacy team', '--also', 'customer-4711', '--json')
    expect(made).toMatchObject({
      code: 0,
      stderr: expect.stringMatching(
        /DSR-7 is due on 2026-03-02(.|\n)*is overdue: it was due on 2026-03-02, \d+ days ago/,
      ),
    })
    expect(JSON.parse(made.stdout)).toMatchObject({
      ...{
        ticket: 'DSR-7',
        subject_ids: [maria, 'customer-4711'],
        assignee: 'privacy team',
        overdue: true,
        version: 1,
      },
    })
    expect((await add('DSR-7', ...late, '--assignee', 'privacy team', '--also', 'customer-4711')).code).toBe(0)
    expect((await add('DSR-7', ...late, '--also', 'customer-4711')).code).toBe(0)
    expect((await add('DSR-7', ...late)).code).toBe(5)
  })

  it('reads identifiers from stdin, and uses today as the day of receipt', async () => {
    const added = await run(['requests', 'add', 'DSR-8', '-', '--kind', 'access', '--json'], {
      stdin: `${maria}\nm.muster\n`,
    })
    expect(JSON.parse(added.stdout)).toMatchObject({ subject_ids: [maria, 'm.muster'], received_on: day(0) })
  })

  it('exits with a usage error without a kind, and for a day in the future', async () => {
    expect((await requests('add', 'DSR-9', maria)).code).toBe(2)
    expect((await add('DSR-9', '--received', day(3))).code).toBe(2)
  })
})

describe('requests list', () => {
  it('sorts by due day, marks overdue requests in words, and exits with 8 with --check only if there is one', async () => {
    await add('DSR-3')
    expect(await requests('list', '--check')).toEqual({ code: 0, stdout: '', stderr: '' })
    await add('DSR-1', '--received', day(-20))
    await add('DSR-2', ...late)
    expect((await requests('list', '-q')).stdout).toBe('DSR-2\nDSR-1\nDSR-3\n')
    const seen = await run(['requests', 'list', '--color', 'never'], {
      tty: { stdout: true, stderr: true },
      columns: 120,
    })
    expect(
      seen.stdout
        .split('\n')
        .slice(1, 4)
        .map(line => line.split(/\s+/).slice(0, 2)),
    ).toEqual([
      ['DSR-2', 'overdue'],
      ['DSR-1', 'open'],
      ['DSR-3', 'open'],
    ])
    expect(seen.stderr).toContain('3 requests, 1 overdue')
    const colored = await run(['requests', 'list', '-o', 'table', '--color', 'always'])
    expect(colored.stdout).toContain('\u001b[38;5;196moverdue')
    expect(await requests('list', '--check', '-q')).toEqual({ code: 8, stdout: 'DSR-2\n', stderr: '' })
  })

  it('lists closed requests of a person, and assigned requests', async () => {
    await add('DSR-1', '--assignee', 'privacy team')
    await add('DSR-2')
    expect(await requests('close', 'DSR-2', '--outcome', 'done', '--yes')).toMatchObject({
      code: 0,
      stderr: expect.not.stringContaining('was due on'),
    })
    expect((await requests('list', '-q', '--assignee', 'privacy team')).stdout).toBe('DSR-1\n')
    expect((await requests('list', '-q', '--closed', '--subject', maria)).stdout).toBe('DSR-2\n')
    expect((await requests('list', '-q', '--all', '--kind', 'erasure')).stdout).toBe('DSR-1\nDSR-2\n')
    expect((await requests('list', '--all', '--closed')).code).toBe(2)
  })

  it('reads all pages', async () => {
    for (let number = 0; number < 102; number += 1) {
      const body = { ticket: `DSR-${number}`, kind: 'access', subject_ids: [maria], received_on: day(0) }
      await call('requests', body)
    }
    expect((await requests('list', '-q')).stdout.trim().split('\n')).toHaveLength(102)
  })
})

describe('requests next, show, update, extend and close', () => {
  it('take a request from open to closed, and keep its history', async () => {
    expect((await requests('next')).code).toBe(3)
    await add('DSR-1', '--received', day(-20))
    await add('DSR-2')
    const next = await requests('next', '--json=ticket')
    expect([JSON.parse(next.stdout), next.stderr]).toEqual([
      { ticket: 'DSR-1' },
      'to answer it: consentctl subject erase --request DSR-1\n',
    ])
    expect((await requests('update', 'DSR-1', '--assignee', 'privacy team')).code).toBe(0)
    expect((await requests('extend', 'DSR-1', '--reason', 'many systems')).code).toBe(0)
    expect((await requests('next', '-q')).stdout).toBe('DSR-2\n')
    const closed = await requests('close', 'DSR-1', '--outcome', 'done', '--yes', '--json')
    expect(closed.stderr).toContain('DSR-1 is an erasure request without an erasure receipt')
    expect(JSON.parse(closed.stdout)).toMatchObject({ state: 'closed', subject_ids: null, overdue: false })
    const { stdout } = await requests('show', 'DSR-1', '--history')
    expect(stdout.split('\n').map(line => line.split('\t')[1])).toEqual([
      ...['created', 'updated', 'extended', 'closed'],
      undefined,
    ])
    expect(JSON.parse((await requests('show', 'DSR-1', '--json')).stdout).outcome).toBe('done')
  })

  it('when an erasure is closed, say when its purge is due, or purge first, and the report has both days', async () => {
    const people = ['DSR-1', 'DSR-2', 'DSR-3']
    for (const ticket of people) {
      await create(ticket)
      await requests('add', ticket, ticket, '--kind', 'erasure')
      if (ticket !== 'DSR-3') expect((await run(['subject', 'erase', '--request', ticket, '--yes'])).code).toBe(0)
    }
    const close = (ticket: string, ...more: string[]) =>
      requests('close', ticket, '--outcome', 'done', '--yes', '--json', ...more)
    const due = day(30)
    const kept = await close('DSR-1')
    expect(kept.stderr).toContain(
      `DSR-1: the erased data stays until its purge, which is due on ${due}; to purge it now: consentctl subject purge DSR-1`,
    )
    expect(JSON.parse(kept.stdout)).toMatchObject({ purge_due_on: due, purged_on: null })
    const purged = await close('DSR-2', '--purge')
    expect(purged.stderr).toContain('DSR-2: the service holds no record with these identifiers any more')
    expect(JSON.parse(purged.stdout)).toMatchObject({
      ...{ purge_due_on: null, purged_on: day(0) },
      receipts: [{ type: 'erasure_receipt' }, { type: 'erasure_receipt' }],
    })
    expect((await close('DSR-3', '--purge')).code).not.toBe(0)
    expect(JSON.parse((await requests('show', 'DSR-3', '--json')).stdout).state).toBe('open')
    expect((await close('DSR-3')).stderr).toContain('DSR-3: the service does not say when the data is purged')

    expect((await run(['subject', 'purge', 'DSR-1', '--yes'])).code).toBe(0)
    const { stdout } = await requests('report')
    expect(stdout).toContain(`| DSR-1 | ${day(0)} | ${day(0)} | ${due} |`)
    expect(stdout).toContain(`| DSR-2 | ${day(0)} | ${day(0)} | – |`)
    expect(stdout).toContain(`| DSR-3 | ${day(0)} | – | – |`)
    expect((await verified(service.sql)).findings).toEqual([])
  })

  it('while a hold keeps records, an erasure is not closed as done; what a purge sealed is told, at the close and in the report', async () => {
    const { accountId, siteId } = account()
    await sealSince(service, { accountId, siteId }, { basis: 'a claim', period: 'P1Y' }, new Date())
    for (const ticket of ['DSR-1', 'DSR-2', 'DSR-3']) {
      await requests('add', ticket, ticket, '--kind', 'erasure')
      if (ticket === 'DSR-3') continue
      await create(ticket)
      expect((await run(['subject', 'erase', '--request', ticket, '--yes'])).code).toBe(0)
      expect((await run(['hold', 'add', ticket, '--reason', 'court', '--until', '90d', '--ticket', 'L-7'])).code).toBe(
        0,
      )
    }
    await run(['hold', 'add', 'DSR-3', '--reason', 'court', '--until', '90d'])
    const close = (ticket: string, ...more: string[]) => requests('close', ticket, '--yes', '--json', ...more)
    const done = ['--outcome', 'done']
    const refused = await close('DSR-1', ...done)
    expect([refused.code, refused.stderr]).toEqual([
      5,
      expect.stringMatching(/A legal hold keeps .* court, L-7; .* refused/),
    ])
    expect((await close('DSR-1', '--outcome', 'refused', '--reason', 'a claim is open')).code).toBe(0)
    expect((await close('DSR-3', ...done)).code).toBe(0) // it has no record
    const [hold] = JSON.parse((await run(['hold', 'list', '--json'])).stdout).filter(
      ({ ticket, created_at }: { ticket: string | null; created_at: string }) => ticket && created_at,
    )
    expect((await run(['hold', 'remove', hold.id, '--yes'])).code).toBe(0)
    const closed = await close('DSR-2', '--purge', ...done)
    const [until] = /1 sealed proof until \S+, or longer while a legal hold stands/.exec(closed.stderr) ?? []
    expect(closed.stderr).toContain(`DSR-2: kept of purged records: ${until}`)
    expect(JSON.parse(closed.stdout)).toMatchObject({ sealed_proofs: 1, held_until: null })
    const shown = JSON.parse((await requests('show', 'DSR-1', '--json')).stdout)
    expect(shown).toMatchObject({ sealed_proofs: 0, held_until: expect.any(String) })
    const { stdout } = await requests('report')
    expect(stdout).toMatch(/\| DSR-2 \| \S+ \| \S+ \| – \| 1 until \d{4}-\d\d-\d\d \|/)
    expect(stdout).toMatch(/\| DSR-3 \| \S+ \| \S+ \| – \| – \|/)
    expect((await verified(service.sql)).findings).toEqual([])
  })

  it('when a request has near matches, update --subject adds them to its identifiers', async () => {
    await add('DSR-1')
    for (const subject of ['MARIA@example.com', 'Maria@Example.com']) await create(subject)
    const refused = await run(['subject', 'erase', '--request', 'DSR-1', '--yes'])
    const advice = `requests update DSR-1 --subject ${maria} --subject MARIA@example.com --subject Maria@Example.com`
    const exported = await run(['subject', 'export', '--request', 'DSR-1', '--out', inFolder('maria.json')])
    expect(exported).toMatchObject({ code: 0, stderr: expect.stringContaining(`them: consentctl ${advice}\n`) })
    expect(refused).toMatchObject({ code: 5, stderr: expect.stringContaining(`use consentctl ${advice}, or --conf`) })
    expect((await run(advice.split(' '))).code).toBe(0)
    expect((await run(['subject', 'erase', '--request', 'DSR-1', '--confirm', '2'])).code).toBe(0)
  })

  it('exit with a specific code for each change that is not allowed', async () => {
    await add('DSR-1', ...late)
    expect((await requests('show', 'DSR-99')).code).toBe(3)
    expect((await requests('update', 'DSR-1')).code).toBe(2)
    const refused = await requests('extend', 'DSR-1', '--reason', 'many systems')
    expect(refused).toMatchObject({ code: 5, stderr: expect.stringContaining('2026-03-02') })
    expect((await requests('close', 'DSR-1', '--outcome', 'done')).code).toBe(2)
    await add('DSR-2', ...late)
    const unexplained = await requests('close', 'DSR-2', '--outcome', 'done', '--yes')
    expect(unexplained).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/--reason is missing: DSR-2 was due on/),
    })
    expect((await requests('list', '-q', '--closed')).stdout).toBe('')
    expect((await requests('close', 'DSR-1', '--outcome', 'refused', '--yes')).code).toBe(2)
    expect(
      (await requests('close', 'DSR-1', '--outcome', 'refused', '--reason', 'unfounded', '--confirm', '1')).code,
    ).toBe(0)
    expect((await requests('update', 'DSR-1', '--assignee', 'x')).code).toBe(5)
  })
})

describe('requests report', () => {
  it('counts kinds, days and late requests with their reasons, and names no person', async () => {
    await add('DSR-1', ...late)
    await add('DSR-2', '--received', day(-10))
    await add('DSR-3', '--received', day(-5))
    await requests('add', 'DSR-4', maria, '--kind', 'access', '--received', day(-2))
    await requests('extend', 'DSR-4', '--reason', 'many | systems')
    await requests('close', 'DSR-1', '--outcome', 'done', '--reason', 'found late', '--yes')
    await requests('close', 'DSR-2', '--outcome', 'done', '--yes')
    await requests('close', 'DSR-3', '--outcome', 'withdrawn', '--yes')
    const page = await requests('report', '--from', '2026-01-01', '--to', day(0))
    const longest = Math.round((Date.parse(day(0)) - Date.parse('2026-01-31')) / 86_400_000)
    const median = (longest + 10) / 2
    expect(page.code).toBe(0)
    expect(page.stdout).toContain(
      `| erasure | 3 | 0 | 2 | 0 | 1 | 1 | ${Math.floor(median)}${median % 1 > 0 ? '½' : ''} | ${longest} |`,
    )
    expect(page.stdout).toContain('| access | 1 | 1 | 0 | 0 | 0 | 0 | – | – |')
    expect(page.stdout).toMatch(/\| DSR-1 \| erasure \| 2026-01-31 \| 2026-03-02 \| .* \| found late \|/)
    expect(page.stdout).toContain('many &#124; systems')
    const seen = await run(['requests', 'report', '--from', '2026-01-01', '--color', 'never'], {
      tty: { stdout: true },
    })
    expect(seen.stdout).toMatch(/^KIND +RECEIVED +OPEN .* LONGEST$/m)
    expect(seen.stdout).toMatch(/^DSR-4 .* many \| systems$/m)
    expect(seen.stdout).not.toMatch(/^[|#]/m)
    expect(Math.max(...seen.stdout.split('\n').map(line => line.length))).toBeLessThanOrEqual(80)
    const csv = await requests('report', '--from', '2026-01-01', '--format', 'csv')
    const lines = csv.stdout.trim().split('\n')
    expect(lines).toHaveLength(5)
    expect(lines[1]).toContain(`DSR-1,erasure,closed,done,2026-01-31,2026-03-02,${day(0)},${longest},`)
    expect(page.stdout + csv.stdout).not.toContain('maria')
    expect((await requests('report', '--from', '2025-01-01', '--to', '2025-12-31')).stdout).toContain('None.')
  })
})
