import { once } from 'node:events'
import { chmodSync, createWriteStream, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { useFolder } from '../../support/cli.ts'
import { apiKeyOf, email, keysPath, newKey, password, signedIn } from '../session-fixtures.ts'
import { listOf, useCli } from '../support.ts'

const cli = useCli()
const folder = useFolder()

/** What a command says whose standard output is a file, as with `> FILE`. */
async function saidTo(mode: number, args: readonly string[]): Promise<string> {
  const file = join(folder.path, 'out.json')
  writeFileSync(file, '')
  chmodSync(file, mode)
  const stdout = createWriteStream(file)
  await once(stdout, 'open')
  const { code, stderr } = await cli.run(args, { stdout, stdin: `${password}\n` })
  expect(code).toBe(0)
  return stderr
}

describe('a secret redirected to a file by the shell', () => {
  const create = ['keys', 'create', '--name', 'ci', '--email', email, '--password-stdin', '--json']
  const answering = () => signedIn(cli, 'post', keysPath, () => ({ ...apiKeyOf(), key: newKey }))

  it.each([0o644, 0o640, 0o604])('prints a warning if others can read it: mode %o', async mode => {
    answering()
    expect(await saidTo(mode, create)).toContain('warning: others can read the file that this secret is written to')
  })

  it('prints no warning if they cannot', async () => {
    answering()
    expect(await saidTo(0o600, create)).not.toContain('warning')
  })

  it('also prints a warning if it is the key in use', async () => {
    expect(await saidTo(0o644, ['auth', 'token', '-q'])).toContain('warning: others can read')
  })

  it('prints no warning where no secret is printed', async () => {
    cli.instance.use(listOf(1))
    expect(await saidTo(0o644, ['list', '--json'])).toBe('')
  })
})
