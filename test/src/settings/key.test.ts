import { execFileSync } from 'node:child_process'
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { readKeyFile, runKeyCommand } from '../../../src/settings/key.ts'
import { changeConfig, saveProfile } from '../../../src/settings/store.ts'
import { runBinary, useFolder } from '../../support/cli.ts'
import { apiKey, expectExit, expectNoStdout, expectUnsent, listOf, machineError, useCli } from '../support.ts'

const cli = useCli()
const folder = useFolder()
let files = 0
const fresh = () => join(folder.path, String(++files))
const refused = (reason: string | RegExp) =>
  expect.objectContaining({ exit: 4, code: 'no_key', message: expect.stringMatching(reason) })

function keyFile(content: string | Buffer, mode = 0o600): string {
  const path = fresh()
  writeFileSync(path, content)
  chmodSync(path, mode)
  return path
}

/** `list`, with this environment and no other key. */
const list = (env: Record<string, string>) =>
  cli.run(['list', '-o', 'ndjson'], { env: { CONSENTCTL_API_KEY: undefined, ...env } })

const sentKeys = () => cli.instance.requests.map(({ headers }) => headers.authorization)

describe('CONSENTCTL_API_KEY_FILE', () => {
  it.each([
    ['plain', apiKey],
    ['with a line end', `${apiKey}\n`],
    ['with CRLF', `${apiKey}\r\n`],
    ['with a byte order mark', `\ufeff${apiKey}\n`],
    ['with blank lines around', `\n  ${apiKey} \n\n`],
  ])('sends the key from a file: %s', async (_, content) => {
    cli.instance.use(listOf(0))
    expect(await list({ CONSENTCTL_API_KEY_FILE: keyFile(content) })).toMatchObject({ code: 0, stderr: '' })
    expect(sentKeys()).toEqual([`Bearer ${apiKey}`])
  })

  it.each([
    ['empty', () => keyFile(''), 'is empty'],
    ['blank', () => keyFile(' \n'), 'is empty'],
    ['not there', fresh, 'no such file'],
    ['a folder', () => folder.path, 'a folder'],
    ['a device', () => '/dev/zero', 'not a regular file'],
    ['huge', () => keyFile(Buffer.alloc(70_000, 'a')), 'larger than 64 KiB'],
    ['not UTF-8', () => keyFile(Buffer.from([0xff, 0xfe, 0x73])), 'UTF-8'],
    ['of several lines', () => keyFile(`${apiKey}\n${apiKey}`), 'is not an API key'],
    ['something else', () => keyFile('-----BEGIN PRIVATE KEY-----'), 'is not an API key'],
    ['a control in it', () => keyFile(`${apiKey}\u0000`), 'is not an API key'],
  ])('exits with 4 without a request when it is %s', async (_, path, said) => {
    const { code, stdout, stderr } = await list({ CONSENTCTL_API_KEY_FILE: path() })
    expect({ code, stdout }).toEqual({ code: 4, stdout: '' })
    const told = machineError(stderr)
    expect(told).toMatchObject({ code: 'no_key', exit: 4 })
    expect(told['message']).toContain(said)
    expect(stderr).not.toContain(apiKey.slice(0, -4))
    expect(stderr).not.toContain('PRIVATE')
    expect(cli.sent()).toEqual([])
  })

  it.each([
    [0o644, true],
    [0o666, true],
    [0o620, true],
    [0o640, false],
    [0o400, false],
  ])('with mode %o, warns: %j', async (mode, warns) => {
    const warnings: string[] = []
    expect(await readKeyFile(keyFile(apiKey, mode), line => warnings.push(line))).toBe(apiKey)
    expect(warnings).toHaveLength(warns ? 1 : 0)
  })

  it('is read from a pipe to its end', async () => {
    const { code, stderr } = await new Promise<{ code: number; stderr: string }>(resolve => {
      const pipe = fifo()
      const reading = list({ CONSENTCTL_API_KEY_FILE: pipe })
      cli.instance.use(listOf(0))
      execFileSync('sh', ['-c', `(sleep 0.1; printf %s "$KEY"; sleep 0.1; echo) > ${pipe} &`], {
        env: { ...process.env, KEY: apiKey },
        stdio: 'ignore',
      })
      reading.then(resolve)
    })
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(sentKeys()).toEqual([`Bearer ${apiKey}`])
  })

  it.each(['without a writer', 'that never ends'])('a pipe %s has a time limit', async kind => {
    const pipe = fifo()
    if (kind === 'that never ends') execFileSync('sh', ['-c', 'sleep 1 > "$0" &', pipe], { stdio: 'ignore' })
    await expect(readKeyFile(pipe, () => {}, 100)).rejects.toThrow(refused('did not finish within 0.1 s'))
  })

  it('together with CONSENTCTL_API_KEY exits with 2', async () => {
    const both = { CONSENTCTL_API_KEY: apiKey, CONSENTCTL_API_KEY_FILE: keyFile(apiKey) }
    expectUnsent(cli, await list(both), 'both set')
  })

  it('is not read by commands that need no key', async () => {
    const env = { CONSENTCTL_API_KEY: undefined, CONSENTCTL_API_KEY_FILE: '/nowhere/key' }
    const { code, stdout } = await cli.run(['config', 'list', '-o', 'tsv'], { env })
    expect(code).toBe(0)
    expect(stdout).toContain('api_key\t\tCONSENTCTL_API_KEY_FILE\n')
  })
})

describe('an invalid key in the environment', () => {
  it.each(['token', `${apiKey}\r\nx-evil: 1`, `${apiKey} x`, 'sk-', 'sk-é'])(
    'exits with 4 without a request: %j',
    async key => {
      expect(await list({ CONSENTCTL_API_KEY: key })).toMatchObject({ code: 4, stdout: '' })
      expect(cli.sent()).toEqual([])
    },
  )
})

function fifo(): string {
  const path = fresh()
  execFileSync('mkfifo', ['-m', '600', path])
  return path
}

describe('a key_command', () => {
  /** A folder whose profile prints its key so. */
  async function profileWith(command: string, base_url = cli.instance.url) {
    const dir = fresh()
    mkdirSync(dir, { mode: 0o700 })
    const profiles = { p: { base_url, key_command: command } }
    await changeConfig(dir, config => ({ ...config, profile: 'p', profiles }))
    return { dir, env: { CONSENTCTL_CONFIG_DIR: dir, CONSENTCTL_BASE_URL: '' } }
  }

  it('is run once, by the shell, with the environment; its key is sent with every request', async () => {
    const log = fresh()
    const { env } = await profileWith(`echo ran >> ${log}; printf '%s\\n' "$PREFIX" | sed s/$/${apiKey.slice(3)}/`)
    cli.instance.use(listOf(250))
    const all = { ...env, PREFIX: 'sk-', PATH: process.env['PATH'] ?? '' }
    expect(await list(all)).toMatchObject({ code: 0, stderr: '' })
    expect(sentKeys()).toEqual(Array(3).fill(`Bearer ${apiKey}`))
    expect(execFileSync('cat', [log], { encoding: 'utf8' })).toBe('ran\n')
  })

  it('is not run by commands that need no key', async () => {
    const log = fresh()
    const { env } = await profileWith(`echo ran > ${log}`)
    const { code, stdout } = await list({ ...env }).then(() =>
      cli.run(['config', 'list', '-o', 'tsv'], { env: { ...env, CONSENTCTL_API_KEY: undefined } }),
    )
    expect(code).toBe(0)
    expect(stdout).toContain('api_key\t\tprofile p, key_command\n')
  })

  it.each(['--base-url', 'CONSENTCTL_BASE_URL'])('is not run for another address (%s)', async way => {
    const log = fresh()
    const { env } = await profileWith(`echo ran > ${log}; echo ${apiKey}`)
    const other = cli.instance.url.replace('127.0.0.1', 'localhost')
    const [args, more] = way === '--base-url' ? [[way, other], {}] : [[], { [way]: other }]
    const ran = await cli.run(['list', ...args], {
      env: { ...env, CONSENTCTL_API_KEY: undefined, ...more },
    })
    expectExit(ran, 4, `belongs to ${cli.instance.url}`)
    expect(() => execFileSync('cat', [log], { stdio: 'ignore' })).toThrow()
    expect(cli.sent()).toEqual([])
  })

  it.each([
    ['exit 3', 'failed with exit code 3'],
    ['/nowhere/command 2>/dev/null', 'failed with exit code 127'],
    ['kill -9 $$', 'was ended by SIGKILL'],
    ['true', 'is empty'],
    ['echo hello', 'is not an API key'],
    [`echo ${apiKey}; echo ${apiKey}`, 'is not an API key'],
    ['cat /dev/zero', 'prints more than'],
    [`echo ${apiKey}; exit 1`, 'failed with exit code 1'],
  ])('exits with 4 when it prints no key: %s', async (command, said) => {
    const { env } = await profileWith(command)
    const ran = await list({ ...env, PATH: process.env['PATH'] ?? '' })
    expectNoStdout(ran, 4, { message: expect.stringContaining(said) })
    expect(ran.stderr).not.toContain(apiKey.slice(0, -4))
    expect(cli.sent()).toEqual([])
  })

  it('has a time limit, which includes its child processes', async () => {
    const { dir } = await profileWith('true')
    const context = { profile: 'p', configFile: join(dir, 'config.json'), env: process.env }
    const pipes = () => process.getActiveResourcesInfo().filter(name => name === 'PipeWrap').length
    const before = pipes()
    for (const command of ['sleep 2', 'sleep 2 | cat'])
      await expect(runKeyCommand(command, context, 100)).rejects.toThrow(refused('did not finish within 0.1 s'))
    await new Promise(resolve => setTimeout(resolve, 50))
    expect(pipes()).toBe(before) // nothing that the process would wait for before it ends
  })

  it.each([0o666, 0o620])('is not run when others can write config.json: mode %o', async mode => {
    const log = fresh()
    const { dir, env } = await profileWith(`echo ran > ${log}; echo ${apiKey}`)
    chmodSync(join(dir, 'config.json'), mode)
    expectExit(await list(env), 2, 'can be changed by others')
    expect(() => execFileSync('cat', [log], { stdio: 'ignore' })).toThrow()
  })

  it('takes precedence over a stored key, but not over an environment key', async () => {
    const { dir, env } = await profileWith('echo sk-of-command')
    await saveProfile(dir, 'p', { base_url: cli.instance.url }, 'sk-stored')
    cli.instance.use(listOf(0))
    await list(env)
    await list({ ...env, CONSENTCTL_API_KEY: 'sk-of-env' })
    expect(sentKeys()).toEqual(['Bearer sk-of-command', 'Bearer sk-of-env'])
  })

  it('can write to stderr, and does not read standard input', async () => {
    const { env } = await profileWith(`echo unlock >&2; cat; echo ${apiKey}`)
    cli.instance.use(listOf(0))
    const { code, stdout, stderr } = await runBinary(['auth', 'token'], { env, stdin: 'records' })
    expect({ code, stdout }).toEqual({ code: 0, stdout: `${apiKey}\n` })
    expect(stderr).toBe(`unlock\nthe key for ${cli.instance.url}, from profile p, key_command\n`)
  })
})

describe('a key on the command line', () => {
  it.each([
    ['get', apiKey],
    ['list', '--subject', apiKey],
    ['list', `--subject=${apiKey}`],
    ['list', '--api-key', apiKey],
    ['config', 'set', 'api_key', apiKey],
    ['config', 'set', 'key_command', `echo ${apiKey}`],
    ['auth', 'login', '-p', apiKey],
    ['rm', '--', apiKey],
    ['--base-url', `https://x.example/${apiKey}`],
  ])('is rejected with exit code 2 and not printed: %s', async (...args) => {
    const ran = await cli.run(args)
    expectNoStdout(ran, 2, 'API key')
    expect(ran.stderr).not.toContain(apiKey.slice(3, 12))
    expect(cli.sent()).toEqual([])
  })

  it.each(['risk-management-of-the-shop', 'sk-1234', 'task-sk'])('%s is not a key', async id => {
    cli.instance.use(listOf(0))
    expect(await cli.run(['list', '--subject', id])).toMatchObject({ code: 0 })
  })
})
