import { spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { beforeEach, expect, it } from 'vitest'
import { binary, runBinary, useFolder } from '../support/cli.ts'
import { startServer } from '../support/server.ts'

const folder = useFolder()
let count = 0
let home: string
let env: Record<string, string>

beforeEach(() => {
  count += 1
  home = join(folder.path, String(count))
  mkdirSync(join(home, '.config', 'consentctl'), { recursive: true })
  env = { HOME: home }
})

const stored = (name: string) => JSON.parse(readFileSync(join(home, '.config', 'consentctl', name), 'utf8'))
const store = (name: string, content: object) =>
  writeFileSync(join(home, '.config', 'consentctl', name), JSON.stringify(content), { mode: 0o600 })

it('serve --quickstart › overwrites no profile or key, and uses its own in the suggested commands', async () => {
  const local = { base_url: 'https://other.example.com' }
  store('config.json', { profile: 'local', profiles: { local } })
  store('credentials.json', { local: { api_key: 'sk-of-the-other', ...local } })
  const server = await startServer(['--quickstart', '--port', '0'], env, /--help/)
  expect(stored('credentials.json').local).toEqual({ api_key: 'sk-of-the-other', ...local })
  expect(stored('config.json').profile).toBe('local')
  const hint = /npx consentctl (-p \S+ )list/.exec(server.output())?.[1]
  expect(hint).toBe('-p local-2 ')
  expect(await runBinary(['-p', 'local-2', 'list'], { env })).toMatchObject({ code: 0 })
  expect(await server.end('SIGTERM')).toBe(0)
})

it('serve --quickstart › logs nothing until the account is printed in full', async () => {
  const file = join(home, 'screen')
  const screen = openSync(file, 'a')
  const child = spawn(process.execPath, [binary, 'serve', '--quickstart', '--port', '0'], {
    env,
    stdio: ['ignore', screen, screen],
  })
  const read = () => readFileSync(file, 'utf8')
  await expect.poll(read, { timeout: 60_000 }).toMatch(/^\{"level".*"listening"/m)
  expect(read().indexOf('{"level"')).toBeGreaterThan(read().indexOf('--help'))
  child.kill('SIGTERM')
  expect(await once(child, 'exit')).toEqual([0, null])
  closeSync(screen)
  expect(read()).toMatch(/"stopped"\}\n$/)
})

it('serve --quickstart › when its settings are invalid, creates nothing', async () => {
  const ran = await runBinary(['serve', '--quickstart', '--port', '0'], {
    env: { ...env, CONSENTCTL_PROFILE: 'nope', NODE_DISABLE_COMPILE_CACHE: '1' },
  })
  expect(ran).toMatchObject({ code: 2, stdout: '' })
  expect(readdirSync(home)).toEqual(['.config'])
})

it('serve --quickstart › when the profile cannot be stored, prints the secrets first and stops with an error', async () => {
  store('config.json', { profiles: {} })
  writeFileSync(join(home, 'file'), '')
  const inFile = { ...env, CONSENTCTL_CONFIG_DIR: join(home, 'file', 'config') }
  const ran = await runBinary(['serve', '--quickstart', '--port', '0'], { env: inFile })
  expect(ran.code).not.toBe(0)
  expect(ran.stderr).toMatch(/^error: /m)
  const wasMade = readdirSync(home).includes('.local')
  expect(/sk-\w{60}/.test(ran.stdout)).toBe(wasMade)
})

it.skipIf(!existsSync('/dev/full'))(
  'serve --quickstart › creates no account when the secrets cannot be written, and reports that it serves only once the account and key exist',
  async () => {
    const full = openSync('/dev/full', 'w')
    const words = [binary, 'serve', '--quickstart', '--port', '0']
    const child = spawn(process.execPath, words, { env, stdio: ['ignore', full, 'ignore'] })
    expect(await once(child, 'exit')).not.toEqual([0, null])
    closeSync(full)
    const server = await startServer(['--quickstart', '--port', '0'], env)
    expect(server.output()).toContain(stored('credentials.json').local.api_key)
    expect(await runBinary(['list'], { env })).toMatchObject({ code: 0 })
    expect(await server.end('SIGTERM')).toBe(0)
  },
)

it('serve --quickstart › when its folder was open to other users, restricts access to it', async () => {
  const data = join(home, 'data')
  mkdirSync(data)
  chmodSync(data, 0o755)
  const server = await startServer(['--port', '0', '--data-dir', data], env)
  const modes = ['postgresql', '.s.PGSQL.5432'].map(name => statSync(join(data, name)).mode & 0o077)
  expect(await server.end('SIGTERM')).toBe(0)
  expect(modes).toEqual([0, 0])
})
