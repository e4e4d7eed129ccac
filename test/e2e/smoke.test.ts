import { expect, it } from 'vitest'
import { runBinary } from '../support/cli.ts'
import { newOwner } from './owner.ts'
import { useServed } from './served.ts'

const served = useServed('smoke')

it('keys create › creates, stores and uses a key with only a password, without printing the key', async () => {
  const { account, email, env, password, run, signedIn } = await newOwner(served, 'first')
  const login = await runBinary(['auth', 'login', '--email', email, '--password-stdin', '--site', account.site.id], {
    env,
    stdin: password,
  })
  expect(login).toMatchObject({ code: 0, stdout: '' })
  expect(login.stderr).not.toMatch(/sk-\w/)
  const created = await run('create', '--subject', 'maria@example.com', '--accepted', '-q')
  expect(created.code).toBe(0)
  expect((await run('list', '-q')).stdout).toBe(created.stdout)
  const readUsage = async () => JSON.parse((await run('usage', '--json')).stdout)
  const expected = {
    month: expect.stringMatching(/^\d{4}-\d\d$/),
    used: 2,
    limit: 1000,
    remaining: 998,
    resets_at: expect.stringMatching(/-01T00:00:00\.000Z$/),
  }
  // A unit that the node is just returning still counts as used.
  for (const read of [readUsage, () => signedIn('usage')])
    await expect.poll(read, { timeout: 20_000 }).toEqual(expected)
  const keys = await signedIn('keys', 'list')
  expect(keys.map(({ name }: { name: string }) => name)).toEqual([expect.stringMatching(/^consentctl@/), 'first key'])
})
