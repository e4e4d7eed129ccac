import { beforeEach, describe, expect, it } from 'vitest'
import { answers, expectExit, expectNoStdout, useCli, uuid } from '../support.ts'

const cli = useCli()

describe('requests with an instance that has only the routes of the specification', () => {
  it.each([
    ['requests', 'list'],
    ['requests', 'next'],
    ['requests', 'show', 'DSR-7'],
    ['requests', 'add', 'DSR-7', 'maria@example.com', '--kind', 'erasure'],
    ['requests', 'update', 'DSR-7', '--assignee', 'privacy team'],
    ['requests', 'extend', 'DSR-7', '--reason', 'many systems'],
    ['requests', 'close', 'DSR-7', '--outcome', 'done', '--yes'],
    ['requests', 'report'],
    ['subject', 'find', '--request', 'DSR-7'],
    ['subject', 'export', '--request', 'DSR-7', '--out', '/nowhere/maria.json'],
    ['subject', 'erase', '--request', 'DSR-7', '--yes'],
  ])('%s %s says that the instance has no register', async (...args) => {
    const notFound = { error: 'not_found', message: 'There is no such route.' }
    cli.instance.use(...(['get', 'post'] as const).map(method => answers(method, '*', notFound, 404)))
    const ran = await cli.run(args, { env: { CONSENTCTL_ERROR_FORMAT: 'json' } })
    expectNoStdout(ran, 2, { code: 'not_offered', exit: 2 })
  })
})

describe('requests close after the due day', () => {
  const nothing = {
    assignee: null,
    extension_reason: null,
    extended_at: null,
    outcome: null,
    outcome_reason: null,
    purge_due_on: null,
    purged_on: null,
  }
  const at = '2026-01-31T00:00:00.000Z'
  const due = {
    ...{ id: uuid(1), ticket: 'DSR-7', kind: 'access', state: 'open', received_on: '2026-01-31', due_on: '2026-03-02' },
    ...{ subject_ids: ['maria'], subject_hmacs: [], receipts: [], ...nothing, closed_at: null, version: 1 },
    ...{ created_at: at, updated_at: at },
  }
  const close = ['requests', 'close', 'DSR-7', '--outcome', 'done', '--yes']
  const changes = () => cli.sent().filter(({ method }) => method === 'PATCH')
  beforeEach(() =>
    cli.instance.use(
      answers('get', '*/api/v1/requests', { data: [due], limit: 100, next_cursor: null }),
      answers('patch', '*/api/v1/requests/*', { ...due, state: 'closed' }),
    ),
  )
  const tty = { stdin: true, stderr: true }

  it('requires --reason off a terminal (exit 2), and sends no change', async () => {
    expectExit(await cli.run(close), 2, '--reason is missing: DSR-7 was due on 2026-03-02')
    expect(changes()).toEqual([])
  })

  it('prompts for the reason on a terminal', async () => {
    const { code, stderr } = await cli.run(close, { tty, stdin: 'found late\n' })
    expect([code, stderr]).toEqual([0, expect.stringContaining('DSR-7 was due on 2026-03-02')])
    expect(changes()).toMatchObject([{ body: { outcome: 'done', outcome_reason: 'found late' } }])
  })

  it.each([
    ['declines an empty answer', ' \n', 9, 'declined'],
    ['reports an answer that is too long', `${'x'.repeat(501)}\n`, 2, 'at most 500 characters'],
  ])('%s at the prompt', async (_, stdin, code, message) => {
    expectExit(await cli.run(close, { tty, stdin }), code, message)
    expect(changes()).toEqual([])
  })
})
