import { join } from 'node:path'
import { afterAll, beforeAll } from 'vitest'
import type { NewAccount } from '../../src/contract/server.ts'
import { type RunResult, runBinary, useFolder } from '../support/cli.ts'
import { createAccount, type ServerProcess, startServer } from '../support/server.ts'
import { databaseFor } from './campaign.ts'

type Env = Record<string, string>

/** Long, because a machine that is busy with other tests may not let the service run for seconds. */
const watchdog = { WATCHDOG_SECONDS: '60' }

/** The built service as a process on a database of the test file's own, with an account. */
export interface Served {
  readonly folder: { readonly path: string }
  server: ServerProcess
  readonly url: string
  account: NewAccount
  /** Environment of the service, and of commands on its database. */
  service: Env
  /** Environment of a client of the account, with its key and site. */
  client: Env
  /** Runs a command as that client. */
  run(...args: string[]): Promise<RunResult>
  /** Returns the environment of a client of another account. `options` are of `admin account create`. */
  newClient(...options: string[]): Promise<{ readonly account: NewAccount; readonly client: Env }>
}

interface Options {
  /** Environment of the service. */
  readonly env?: Env
  readonly account?: readonly string[]
  readonly canRun?: boolean
}

/** Starts the service with an account and a client. `name` names its database. */
export function useServed(name: string, { env = {}, account = [], canRun = true }: Options = {}): Served {
  const folder = useFolder()
  let accounts = 0
  const served = {
    folder,
    get url() {
      return served.server.url
    },
    run: (...args) => runBinary(args, { env: served.client }),
    newClient: async (...options) => {
      accounts += 1
      const made = await createAccount(['--email', `owner-${accounts}@example.com`, ...options], served.service)
      const client: Env = {
        HOME: folder.path,
        CONSENTCTL_BASE_URL: served.url,
        CONSENTCTL_API_KEY: made.api_key,
        CONSENTCTL_SITE: made.site.id,
        CONSENTCTL_STATE_DIR: join(folder.path, 'state'),
      }
      return { account: made, client }
    },
  } as Served
  if (!canRun) return served
  beforeAll(async () => {
    served.service = { HOME: folder.path, ...watchdog, ...env, ...(await databaseFor(name, folder.path)) }
    served.server = await startServer(['--port', '0'], served.service)
    Object.assign(served, await served.newClient(...account))
  })
  afterAll(() => served.server?.end('SIGTERM'))
  return served
}

/** Starts the service by `serve --quickstart`, whose profile in `folder` is the client's. */
export function useQuickstart(name: string, canRun = true) {
  const folder = useFolder()
  const quickstart = {
    folder,
    env: () => ({ HOME: folder.path }),
    server: undefined as unknown as ServerProcess,
    run: (...args: string[]) => runBinary(args, { env: { HOME: folder.path } }),
  }
  if (!canRun) return quickstart
  beforeAll(async () => {
    const env = { HOME: folder.path, ...watchdog, ...(await databaseFor(name, folder.path)) }
    quickstart.server = await startServer(['--quickstart', '--port', '0'], env, /--help/)
  })
  afterAll(() => quickstart.server?.end('SIGTERM'))
  return quickstart
}
