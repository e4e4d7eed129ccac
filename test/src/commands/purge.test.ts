import { describe, expect, it, vi } from 'vitest'
import type { DatabaseOptions, PurgeOrder, ServerModule } from '../../../src/contract/server.ts'
import { type RunOptions, run } from '../../support/cli.ts'
import { expectExit, ndjson, uuid } from '../support.ts'

const accounts = [
  { account_id: uuid(1), expired: 1, purged: 3, proofs: 0 },
  { account_id: uuid(2), expired: 0, purged: 2, proofs: 4 },
]
const terminal = { stdin: true, stdout: true, stderr: true }

function setup(found = accounts) {
  const done: string[] = []
  const purge = vi.fn(async function* (_: DatabaseOptions, { approve }: PurgeOrder) {
    if (!(await approve(found, found.length === 0 ? 0 : 6))) return
    for (const account of found) {
      done.push(account.account_id)
      yield account
    }
  })
  const loadServer = vi.fn(async () => ({ purge }) as unknown as ServerModule)
  const command = (args: string[], options: RunOptions = {}) =>
    run(['admin', 'purge', ...args], { loadServer, ...options })
  return { purge, loadServer, command, done }
}

describe('admin purge', () => {
  it('purges every account and prints the results for each', async () => {
    const { purge, command, done } = setup()
    const { code, stdout, stderr } = await command(['--yes', '--older-than', '7', '--data-dir', '/d'])
    expect({ code, stdout }).toEqual({ code: 0, stdout: `${uuid(1)}\t1\t3\t0\n${uuid(2)}\t0\t2\t4\n` })
    expect(stderr).toContain('deleted 1 expired record\npurged 5 records\n4 sealed proofs that ended removed')
    expect(purge.mock.calls[0]?.[0]).toEqual({ databaseUrl: undefined, dataDir: '/d' })
    expect(purge.mock.calls[0]?.[1]).toMatchObject({ olderThan: 7 })
    expect(done).toHaveLength(2)
  })

  it('without --older-than, uses the server’s default', async () => {
    const { purge, command } = setup()
    await command(['--yes'])
    expect(purge.mock.calls[0]?.[1].olderThan).toBeUndefined()
  })

  it('with --dry-run, counts without a prompt', async () => {
    const { command, done } = setup()
    const { code, stdout } = await command(['--dry-run', '-o', 'ndjson'])
    expect({ code, done }).toEqual({ code: 0, done: [] })
    expect(ndjson(stdout)).toEqual(accounts)
  })

  it('on a terminal, shows the accounts and prompts for the number of records', async () => {
    const { command, done } = setup()
    const { code, stderr } = await command([], { tty: terminal, stdin: '6\n' })
    expect({ code, done }).toEqual({ code: 0, done: [uuid(1), uuid(2)] })
    expect(stderr).toContain(uuid(2))
    expect(stderr).toContain('Type 6 to purge these records on this database, permanently: ')
  })

  it.each(['2\n', 'y\n', '\n', ''])('does nothing if the answer is %j', async stdin => {
    const { command, done } = setup()
    const { code, stdout } = await command([], { tty: terminal, stdin })
    expect({ code, stdout, done }).toEqual({ code: 9, stdout: '', done: [] })
  })

  it('when the number differs from --confirm, does nothing', async () => {
    const { command, done } = setup()
    const { code, stderr } = await command(['--confirm', '5'])
    expect({ code, done }).toEqual({ code: 10, done: [] })
    expect(stderr).toContain('6 records match, not 5: nothing was purged')
    expect((await command(['--confirm', '6'])).code).toBe(0)
  })

  it.each([
    [[], 'cannot prompt'],
    [['--yes', '--older-than', '-1'], '--older-than'],
    [['--yes', '--older-than', 'a week'], '--older-than must be a whole number of days'],
  ])('rejects %j before the database is opened', async (args, said) => {
    const { command, loadServer } = setup()
    expectExit(await command(args), 2, said)
    expect(loadServer).not.toHaveBeenCalled()
  })

  it('names the records that it skips because their histories do not verify, and exits with 8', async () => {
    const purge = async function* (_: DatabaseOptions, { approve, onUnverified }: PurgeOrder) {
      await approve(accounts, 6)
      const finding = { version: null, problem: 'lost', detail: 'its history is missing' } as const
      await onUnverified({ account_id: uuid(1), consent_id: uuid(9), ...finding })
      yield* accounts
    }
    const loadServer = async () => ({ purge }) as unknown as ServerModule
    const { code, stdout, stderr } = await run(['admin', 'purge', '--yes', '-q'], { loadServer })
    expect({ code, stdout }).toEqual({ code: 8, stdout: `${uuid(1)}\n${uuid(2)}\n` })
    expect(stderr).toBe(
      `did not purge the record ${uuid(9)} of the account ${uuid(1)}: its history is missing\n` +
        'did not purge 1 record whose history does not verify: run consentctl admin verify\n',
    )
  })

  it('when there is nothing to purge, does not prompt', async () => {
    const { command } = setup([])
    expectExit(await command([], { tty: terminal, stdin: '' }), 0, 'purged 0 records')
  })
})
