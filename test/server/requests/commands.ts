import { join } from 'node:path'
import { beforeEach } from 'vitest'
import * as cli from '../../support/cli.ts'
import type { TestAccount, TestService } from '../../support/service.ts'

/** Runs commands before each test as a new account of the service, with a new state folder. */
export function useCommands(service: TestService, address: { readonly url: string } = service) {
  const folder = cli.useFolder()
  let account: TestAccount
  let env: Record<string, string>
  const state = () => join(folder.path, account.accountId)
  beforeEach(async () => {
    account = await service.newAccount()
    env = {
      CONSENTCTL_BASE_URL: address.url,
      CONSENTCTL_API_KEY: account.key,
      CONSENTCTL_MAX_WAIT: '0',
      CONSENTCTL_CONFIG_DIR: join(state(), 'config'),
      CONSENTCTL_STATE_DIR: state(),
    }
  })
  const call = (path: string, body: object) => service.call('POST', `/api/v1/${path}`, { key: account.key, body })
  return {
    inFolder: (...path: string[]) => join(folder.path, ...path),
    inState: (...path: string[]) => join(state(), ...path),
    run: (args: readonly string[], options: cli.RunOptions = {}) => cli.run(args, { env, ...options }),
    /** With the same key on another machine. */
    runElsewhere: (args: readonly string[]) => {
      const folder = join(state(), 'elsewhere')
      return cli.run(args, {
        env: { ...env, CONSENTCTL_CONFIG_DIR: join(folder, 'config'), CONSENTCTL_STATE_DIR: folder },
      })
    },
    account: () => account,
    create: (subject_id: string) => call('consents', { site_id: account.siteId, subject_id }),
    call,
  }
}
