import { HttpResponse, http } from 'msw'
import { expect, it } from 'vitest'
import { runAs, signsIn } from '../../session-fixtures.ts'
import { expectExit, fails, useCli, uuid } from '../../support.ts'

const cli = useCli()
const path = '*/api/v1/audit/reads'

const read = (index: number) => ({
  id: uuid(index),
  at: '2026-01-31T09:30:00.000Z',
  operation: 'history',
  actor: { kind: 'user', id: uuid(900), name: 'li@example.com' },
  subject_hmac: 'ab'.repeat(32),
})

it('audit reads › follows the pages up to the limit, with the filters of the command', async () => {
  cli.instance.use(
    signsIn(),
    http.get(path, ({ request }) => {
      const { searchParams } = new URL(request.url)
      const { cursor, ...query } = Object.fromEntries(searchParams)
      expect(query).toEqual({ subject_id: 'maria@example.com', from: '2026-01-31T00:00:00.000Z', limit: '100' })
      const first = cursor === undefined ? 1 : 3
      return HttpResponse.json({
        data: [read(first), read(first + 1)],
        limit: 100,
        next_cursor: cursor === undefined ? 'more' : null,
      })
    }),
  )
  const list = ['audit', 'reads', '--subject', 'maria@example.com', '--from', '2026-01-31', '-o', 'tsv']
  const { code, stdout } = await runAs(cli, list)
  expect(code).toBe(0)
  const actor = `{"kind":"user","id":"${uuid(900)}","name":"li@example.com"}`
  const line = (index: number) => `${uuid(index)}\t2026-01-31T09:30:00.000Z\t${actor}\thistory\t${'ab'.repeat(32)}\n`
  expect(stdout).toBe([1, 2, 3, 4].map(line).join(''))
  expect((await runAs(cli, [...list, '--limit', '3'])).stdout).toBe([1, 2, 3].map(line).join(''))
})

it('audit reads › exits with 4 and says why for a user who is no owner', async () => {
  const message = 'This requires a user with the role owner, not reader.'
  cli.instance.use(
    signsIn(),
    http.get(path, () => fails(403, 'forbidden', message, 'missing_role')),
  )
  expectExit(await runAs(cli, ['audit', 'reads']), 4, message)
})
