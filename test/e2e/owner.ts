import { join } from 'node:path'
import { expect } from 'vitest'
import { runBinary } from '../support/cli.ts'
import { createAccount } from '../support/server.ts'
import type { Served } from './served.ts'

/** A new account whose owner uses the command line in a configuration folder of their own. */
export async function newOwner(served: Served, name: string) {
  const email = `${name}@example.com`
  const account = await createAccount(['--email', email, '--monthly-quota', '1000'], served.service)
  const env = {
    HOME: served.folder.path,
    CONSENTCTL_BASE_URL: served.url,
    CONSENTCTL_CONFIG_DIR: join(served.folder.path, name),
    CONSENTCTL_EMAIL: email,
  }
  const password = account.user.password ?? ''
  const run = (...args: string[]) => runBinary(args, { env })
  /** The same for commands that sign in, whose output is JSON. */
  const signedIn = async (...args: string[]) => {
    const send = () => runBinary([...args, '--password-stdin', '--json'], { env, stdin: `${password}\n` })
    let ran = await send()
    while (ran.code === 7) ran = await send() // a busy service sheds sign-ins
    expect(ran).toMatchObject({ code: 0 })
    return JSON.parse(ran.stdout)
  }
  const withKey = (key: string, ...args: string[]) => runBinary(args, { env: { ...env, CONSENTCTL_API_KEY: key } })
  return { account, email, env, password, run, signedIn, withKey }
}
