import { describe, expect, it, vi } from 'vitest'
import type { ServerModule } from '../../../src/contract/server.ts'
import { type RunOptions, run } from '../../support/cli.ts'
import { expectExit } from '../support.ts'

const terminal = { stdin: true, stdout: true, stderr: true }
const row = { key_id: 'new', state: 'valid', not_before: null, revoked_at: null }

describe.each([
  ['revoke', ['--reason', 'compromised'], 'Documents that the key old has signed become invalid'],
  ['restart', [], 'The key of the environment will follow the key old without its signature.'],
] as const)('admin signing-key %s', (verb, flags, note) => {
  const setup = (options: RunOptions, ...more: string[]) => {
    const change = vi.fn(async () => [row])
    const loadServer = async () => ({ revokeSigningKey: change, restartSigningKeys: change }) as unknown as ServerModule
    const ran = run(['admin', 'signing-key', verb, 'old', ...flags, ...more], { loadServer, ...options })
    return { change, ran }
  }

  it('when it cannot prompt, changes nothing and suggests --yes', async () => {
    const { change, ran } = setup({})
    expect(await ran).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining('use --yes') })
    expect(change).not.toHaveBeenCalled()
  })

  it.each(['n\n', '\n', ''])('when the answer is %j, changes nothing', async stdin => {
    const { change, ran } = setup({ tty: terminal, stdin })
    expectExit(await ran, 9, note, 'This cannot be undone.')
    expect(change).not.toHaveBeenCalled()
  })

  it('when confirmed, changes the keys', async () => {
    for (const { change, ran } of [setup({ tty: terminal, stdin: 'y\n' }), setup({}, '--yes')]) {
      expect((await ran).code).toBe(0)
      expect(change).toHaveBeenCalledOnce()
    }
  })
})
