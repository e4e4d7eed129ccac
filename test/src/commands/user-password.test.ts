import { describe, expect, it, vi } from 'vitest'
import { OperatorError, type ServerModule } from '../../../src/contract/server.ts'
import { type RunOptions, run } from '../../support/cli.ts'
import { machineError } from '../support.ts'

const email = 'maria@example.com'
const made = 'made-up_password-1234567'

/** The command with a server that sets passwords, and what that was asked for. */
function setup() {
  const resetPassword = vi.fn<ServerModule['resetPassword']>(async (_options, { email, password }) => ({
    email: email.toLowerCase(),
    password: password === undefined ? made : null,
  }))
  const loadServer = vi.fn(async () => ({ resetPassword }) as unknown as ServerModule)
  const command = (args: readonly string[], options: RunOptions = {}) =>
    run(['admin', 'user', 'password', ...args], { loadServer, ...options })
  return { resetPassword, loadServer, command }
}

describe('a generated password', () => {
  it('is shown once, only on standard output', async () => {
    const { command, resetPassword } = setup()
    const { code, stdout, stderr } = await command(['--email', email])
    expect({ code, stdout }).toEqual({ code: 0, stdout: `${email}\t${made}\n` })
    expect(stderr).not.toContain(made)
    expect(resetPassword.mock.calls.map(([options, user]) => [options, user])).toEqual([
      [
        { databaseUrl: undefined, dataDir: undefined },
        { email, password: undefined },
      ],
    ])
  })

  it('is printed in full on a narrow terminal', async () => {
    const tty = { stdout: true, stderr: true }
    const { stdout } = await setup().command(['--email', email], { tty, columns: 20 })
    expect(stdout).toContain(made)
  })

  it.each(['-q', '-o id'])('when it would be lost to %s, exits with an error before any change', async flags => {
    const { command, loadServer } = setup()
    expect(await command(['--email', email, ...flags.split(' ')])).toMatchObject({ code: 2, stdout: '' })
    expect(loadServer).not.toHaveBeenCalled()
  })
})

describe('a password on standard input', () => {
  it.each([
    ['without a line’s end', 'a b\tc', 'a b\tc'],
    ['with a line’s end', 'password\n', 'password'],
    ['with a line’s end of Windows', 'password\r\n', 'password'],
    ['with spaces round it', ' password \n', ' password '],
    ['with two lines’ ends', 'password\n\n', 'password\n'],
    ['in any script', 'pässwörd🍪\n', 'pässwörd🍪'],
  ])('%s is used unchanged except for its line end', async (_name, stdin, password) => {
    const { command, resetPassword } = setup()
    expect((await command(['--email', email, '--password-stdin'], { stdin })).code).toBe(0)
    expect(resetPassword.mock.calls[0]?.[1]).toEqual({ email, password })
  })

  it('is never printed', async () => {
    for (const format of ['table', 'tsv', 'json', 'ndjson', 'id']) {
      const args = ['--email', email, '--password-stdin', '-o', format]
      const { code, stdout, stderr } = await setup().command(args, { stdin: 'correct horse\n' })
      expect(code).toBe(0)
      expect(stdout).toContain(email)
      expect(stdout + stderr).not.toContain('horse')
    }
  })

  it.each(['', '\n', '\r\n'])('is required: rejects %j', async stdin => {
    const { command, loadServer } = setup()
    expect(await command(['--email', email, '--password-stdin'], { stdin })).toMatchObject({ code: 2, stdout: '' })
    expect(loadServer).not.toHaveBeenCalled()
  })

  it('must be UTF-8', async () => {
    const { command, loadServer } = setup()
    const stdin = Buffer.from([0x70, 0xff, 0xfe, 0x0a])
    expect((await command(['--email', email, '--password-stdin'], { stdin })).code).toBe(5)
    expect(loadServer).not.toHaveBeenCalled()
  })
})

describe('the command line', () => {
  it.each([
    [''],
    ['--email'],
    ['--email='],
    [`${email}`],
    [`--email ${email} --password secret-word`],
    [`--email ${email} --password-stdin=secret-word`],
    [`--email ${email} secret-word`],
  ])('is rejected: "%s"', async line => {
    const { command, loadServer } = setup()
    expect(await command(line === '' ? [] : line.split(' '))).toMatchObject({ code: 2, stdout: '' })
    expect(loadServer).not.toHaveBeenCalled()
  })

  it('names the database', async () => {
    const { command, resetPassword } = setup()
    await command(['--email', email, '--database-url', 'postgres://db/x'])
    await command(['--email', email, '--data-dir', '/srv/consents'])
    expect(resetPassword.mock.calls.map(([options]) => options)).toEqual([
      { databaseUrl: 'postgres://db/x', dataDir: undefined },
      { databaseUrl: undefined, dataDir: '/srv/consents' },
    ])
  })
})

describe('a failure', () => {
  it('when the operator can fix it, is one sentence, or JSON with --json', async () => {
    const { command, resetPassword } = setup()
    resetPassword.mockRejectedValue(new OperatorError(`nobody signs in with the e-mail ${email}`))
    const person = await command(['--email', email])
    expect(person).toMatchObject({ code: 2, stdout: '' })
    expect(person.stderr).toContain(`nobody signs in with the e-mail ${email}`)
    const program = await command(['--email', email, '--json'])
    expect(program).toMatchObject({ code: 2, stdout: '' })
    expect(machineError(program.stderr)).toMatchObject({ exit: 2 })
  })
})
