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
])('admin account quota ACCOUNT %s changes the quota of the database that is named', async (text, monthlyQuota) => {
  await quota('maria@example.com', text, '--data-dir', 'x')
  expect(setQuota).toHaveBeenLastCalledWith(
    { dataDir: 'x', databaseUrl: undefined },
    { account: 'maria@example.com', monthlyQuota },
    expect.anything(),
  )
})

it.each([[[]], [['maria@example.com']], [['maria@example.com', 'many']], [['maria@example.com', '1.5']]])(
  'admin account quota %j is a usage error',
  async args => {
    setQuota.mockClear()
    expect(await quota(...args)).toMatchObject({ code: 2, stdout: '' })
    expect(setQuota).not.toHaveBeenCalled()
  },
)

it('admin account quota of an unknown account ends with 3', async () => {
  setQuota.mockRejectedValueOnce(new OperatorError('no account has the id x', { code: 'not_found' }))
  expect(await quota('x', '1')).toMatchObject({ code: 3, stdout: '' })
})
