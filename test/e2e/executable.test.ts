import { execFileSync, spawnSync } from 'node:child_process'
import { chmodSync, existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import packageJson from '../../package.json' with { type: 'json' }
import { answers, apiKey, byId, consent, listOf } from '../src/support.ts'
import { commandLine, runBinary, useFolder } from '../support/cli.ts'
import { useInstance } from '../support/instance.ts'

const folder = useFolder()
const instance = useInstance()

const env = () => ({
  CONSENTCTL_CONFIG_DIR: join(folder.path, 'config'),
  CONSENTCTL_BASE_URL: instance.url,
  CONSENTCTL_API_KEY: apiKey,
  XDG_CACHE_HOME: join(folder.path, 'cache'),
})

describe('executable › warnings of Node.js', () => {
  it.each([
    [['--version']],
    [['--help']],
    [['get', 'a1']],
    [['get', 'a1', '-o', 'table']],
    [['list', '--limit', '1', '-o', 'ndjson']],
    [['config', 'list']],
  ])('do not appear on stderr: %j', async args => {
    instance.use(answers('get', byId, consent()), listOf(1))
    const { code, stdout, stderr } = await runBinary(args, { env: env() })
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).not.toBe('')
  })

  it('do not appear on stderr when a key is stored', async () => {
    instance.use(listOf(1))
    const login = { env: env(), stdin: `${apiKey}\n` }
    const { code, stderr } = await runBinary(['auth', 'login', '--with-key'], login)
    expect(code).toBe(0)
    expect(stderr).not.toMatch(/warning|\(node:|--trace/i)
  })
})

describe('executable › --version', () => {
  it.each([[['--version']], [['-V']], [['--version', '--color', 'never']]])(
    'prints the package version and its commit, with and without the fast path: %j',
    async args => {
      const { stdout, ...ran } = await runBinary(args, {})
      expect(ran).toEqual({ code: 0, stderr: '' })
      expect(stdout.split(' (commit ')[0]).toBe(packageJson.version)
      expect(stdout).toMatch(/^\S+ \(commit .*\)\n$/)
    },
  )

  it.skipIf(!existsSync('/dev/full'))('when stdout is on a full disk, exits with an error', () => {
    const line = '"$@" >/dev/full'
    const { status, stderr } = spawnSync('sh', ['-c', line, 'sh', ...commandLine(['--version'])])
    expect(status).toBe(1)
    expect(String(stderr)).toMatch(/^error: cannot write the output: .*ENOSPC/)
  })
})

describe.skipIf(process.env['CONSENTCTL_TEST_BINARY'])('executable › compile cache', () => {
  const cache = join('consentctl', `${process.version}-${process.arch}.code`)
  let count = 0

  /** A folder of caches with what a first start leaves in it. */
  async function kept() {
    count += 1
    const XDG_CACHE_HOME = join(folder.path, `cache-${count}`)
    instance.use(answers('get', byId, consent()))
    const get = () => runBinary(['get', 'a1'], { env: { ...env(), XDG_CACHE_HOME } })
    const first = await get()
    expect(first.code).toBe(0)
    return { first, get, file: join(XDG_CACHE_HOME, cache) }
  }

  it('is written once to the user’s cache folder, readable only by the user', async () => {
    const { first, get, file } = await kept()
    const before = statSync(file)
    expect(before.mode & 0o077).toBe(0)
    expect(await get()).toEqual(first)
    expect(statSync(file).mtimeMs).toBe(before.mtimeMs)
    expect(readdirSync(dirname(file))).toHaveLength(1)
  })

  it.each([[['--help']], [['get', '--help']], [['get']], [['config', 'path']]])(
    'is not written by a command that sends no request: %j',
    async args => {
      const caches = join(folder.path, `cache-of-${args.join('-')}`)
      await runBinary(args, { env: { ...env(), XDG_CACHE_HOME: caches } })
      expect(existsSync(caches)).toBe(false)
    },
  )

  it.each([
    ['is damaged', (content: Buffer) => content.fill(0x55, 5000, 5004)],
    ['is cut off', (content: Buffer) => content.subarray(0, 9000)],
    ['is empty', () => Buffer.alloc(0)],
    ['is of another build', (content: Buffer) => content.fill('0', 0, 40)],
  ])('is replaced when it %s', async (_name, spoil) => {
    const { first, get, file } = await kept()
    const spoilt = spoil(readFileSync(file))
    writeFileSync(file, spoilt)
    expect(await get()).toEqual(first)
    expect(readFileSync(file).equals(spoilt)).toBe(false)
  })

  it.runIf(process.version.startsWith('v20.'))('is small, because each start reads it twice', async () => {
    const XDG_CACHE_HOME = join(folder.path, 'cache-of-list')
    await runBinary(['list'], { env: { XDG_CACHE_HOME } })
    // It grows with every function and import() of the client, and by far more with a module that each start evaluates.
    expect(statSync(join(XDG_CACHE_HOME, cache)).size / 2).toBeLessThan(640_000)
  })

  it('is replaced instead of used when other users can write to it', async () => {
    const { first, get, file } = await kept()
    chmodSync(file, 0o666)
    expect(await get()).toEqual(first)
    expect(statSync(file).mode & 0o077).toBe(0)
  })

  it('is skipped without an error when it cannot be written', async () => {
    const file = join(folder.path, 'file')
    writeFileSync(file, '')
    instance.use(answers('get', byId, consent()))
    const { code, stderr } = await runBinary(['get', 'a1'], { env: { ...env(), XDG_CACHE_HOME: file } })
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  })

  it('is not written when the user has no home folder or has disabled it', async () => {
    const [home, caches] = [join(folder.path, 'nowhere'), join(folder.path, 'unwanted')]
    instance.use(answers('get', byId, consent()))
    await runBinary(['get', 'a1'], { env: { ...env(), XDG_CACHE_HOME: undefined, HOME: home } })
    await runBinary(['get', 'a1'], { env: { ...env(), XDG_CACHE_HOME: caches, NODE_DISABLE_COMPILE_CACHE: '1' } })
    expect([existsSync(home), existsSync(caches)]).toEqual([false, false])
  })
})

describe.runIf(process.env['CONSENTCTL_TEST_BINARY'])('single executable', () => {
  const single = process.env['CONSENTCTL_TEST_BINARY'] ?? ''

  it.each([[['serve']], [['admin', 'account', 'create', '--email', 'a@example.com']]])(
    'says where to find the service: %j',
    args => {
      const { status, stdout, stderr } = spawnSync(single, args, { input: '' })
      expect({ status, stdout: String(stdout) }).toEqual({ status: 2, stdout: '' })
      expect(String(stderr)).toMatch(/^error: this executable is the client only.*\ntry: install the npm package/)
    },
  )

  it('ignores Node.js options in the environment and on the command line', () => {
    const NODE_OPTIONS = '--require /nowhere'
    expect(String(execFileSync(single, ['--version'], { env: { NODE_OPTIONS } }))).toMatch(/^\d/)
    expect(spawnSync(single, ['--eval', '0']).status).toBe(2)
  })
})
