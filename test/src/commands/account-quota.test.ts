import { expect, it, vi } from 'vitest'
import { OperatorError, type ServerModule } from '../../../src/contract/server.ts'
import { run } from '../../support/cli.ts'

const setQuota = vi.fn<ServerModule['setQuota']>()
const quota = (...args: string[]) =>
  run(['admin', 'account', 'quota', ...args], { loadServer: async () => ({ setQuota }) as unknown as ServerModule })

it.each([
  ['50000', 50_000],
  ['0', 0],
  ['none', null],
])('admin account quota ACCOUNT %s changes the quota in the given database', async (text, monthlyQuota) => {
  await quota('maria@example.com', text, '--data-dir', 'x')
  expect(setQuota).toHaveBeenLastCalledWith(
    { dataDir: 'x', databaseUrl: undefined },
    { account: 'maria@example.com', monthlyQuota },
    expect.anything(),
  )
})

it.each([[[]], [['maria@example.com']], [['maria@example.com', 'many']], [['maria@example.com', '1.5']]])(
  'admin account quota %j exits with a usage error',
  async args => {
    setQuota.mockClear()
    expect(await quota(...args)).toMatchObject({ code: 2, stdout: '' })
    expect(setQuota).not.toHaveBeenCalled()
  },
)

it('admin account quota of an unknown account exits with 3', async () => {
  setQuota.mockRejectedValueOnce(new OperatorError('no account has the id x', { code: 'not_found' }))
  expect(await quota('x', '1')).toMatchObject({ code: 3, stdout: '' })
})

it.each([
  [15_000, 'own quota'],
  [null, 'unlimited'],
])(
  'admin account list of an account with a quota of %j shows %s in the table, and the plan in TSV',
  async (monthly_quota, shown) => {
    const row = {
      account_id: 'a',
      email: 'maria@example.com',
      plan: 'unlimited',
      monthly_quota,
      used: 0,
      remaining: monthly_quota,
    }
    const loadServer = async () =>
      ({ listAccounts: async () => [{ ...row, created_at: '2026-01-31T09:30:00.000Z' }] }) as unknown as ServerModule
    const list = async (format: string) =>
      (await run(['admin', 'account', 'list', '-o', format], { loadServer })).stdout
    const table = await list('wide')
    expect(table).toMatch(new RegExp(` ${shown}( |$)`, 'm'))
    expect(table.includes('unlimited')).toBe(shown === 'unlimited')
    expect(await list('tsv')).toContain('\tunlimited\t')
  },
)
