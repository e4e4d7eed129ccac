import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  chownSync,
  cpSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { changeConfig, readConfig, readCredentials, removeKey, saveProfile } from '../../../src/settings/store.ts'
import { binary, run, useFolder } from '../../support/cli.ts'
import { apiKey, expectExit, expectNoStdout } from '../support.ts'

const root = useFolder()
let folders = 0
const fresh = () => join(root.path, String(++folders))
const profile = { base_url: 'https://a.example' }
const numbers = Array.from({ length: 20 }, (_, index) => index)

const nobody = { uid: 65_534, gid: 65_534 }

/** Runs the executable as a user that owns nothing here: a copy, because only root may be able to enter the checkout. */
async function asNobody(args: string[], env: Record<string, string>) {
  const copy = join(root.path, 'executable')
  for (const part of ['bin', 'dist/client', 'package.json'])
    cpSync(join(dirname(binary), '..', part), join(copy, part), { recursive: true })
  const child = spawn(process.execPath, [join(copy, 'bin', basename(binary)), ...args], {
    env: { PATH: process.env['PATH'], ...env },
    ...nobody,
  })
  child.stdin.end()
  const [stdout, stderr]: [string[], string[]] = [[], []]
  child.stdout.on('data', chunk => stdout.push(String(chunk)))
  child.stderr.on('data', chunk => stderr.push(String(chunk)))
  const [code] = await once(child, 'close')
  return { code: code as number, stdout: stdout.join(''), stderr: stderr.join('') }
}

const isRoot = process.getuid?.() === 0
const canGiveUpRights = isRoot && spawnSync(process.execPath, ['-e', '0'], nobody).status === 0

if (isRoot && !canGiveUpRights)
  process.stderr.write('\n*** SKIPPED: files of another user. Only root may run this Node.js. ***\n\n')

describe('concurrent writers', () => {
  it('lose nothing: 20 processes add 20 profiles', { timeout: 60_000 }, async () => {
    const folder = fresh()
    const env = { PATH: process.env['PATH'], CONSENTCTL_CONFIG_DIR: folder }
    const added = numbers.map(async number => {
      const args = ['config', 'set', 'base_url', `https://p${number}.example`, '-p', `p${number}`]
      const [code] = await once(spawn(process.execPath, [binary, ...args], { env, stdio: 'ignore' }), 'close')
      expect(code).toBe(0)
    })
    await Promise.all(added)
    const { profile: first, profiles } = readConfig(folder)
    expect(Object.keys(profiles).sort()).toEqual(numbers.map(number => `p${number}`).sort())
    expect(Object.keys(profiles)).toContain(first)
    expect(readdirSync(folder)).toEqual(['config.json'])
  })

  it('lose nothing in both files in one process: keys are added and removed', async () => {
    const folder = fresh()
    await saveProfile(folder, 'first', profile, 'sk-first')
    await Promise.all([
      ...numbers.map(number => saveProfile(folder, `p${number}`, profile, `sk-${number}`)),
      removeKey(folder, 'first'),
    ])
    expect(Object.keys(readConfig(folder).profiles)).toHaveLength(21)
    expect(Object.keys(readCredentials(folder, () => {})).sort()).toEqual(numbers.map(number => `p${number}`).sort())
  })

  it('let a reader see the old or the new file, never a partial one', async () => {
    const folder = fresh()
    await saveProfile(folder, 'a', profile, 'sk-a')
    let isDone = false
    const writing = (async () => {
      for (const number of numbers) {
        const email = String(number).repeat(50_000)
        await changeConfig(folder, config => ({ ...config, profiles: { a: { ...profile, email } } }))
      }
      isDone = true
    })()
    while (!isDone) {
      expect(readConfig(folder).profiles['a']?.base_url).toBe(profile.base_url)
      await new Promise(setImmediate)
    }
    await writing
  })

  it('do not block after a killed one', async () => {
    const folder = fresh()
    await saveProfile(folder, 'a', profile, 'sk-a')
    const lock = join(folder, '.lock')
    writeFileSync(lock, '')
    const old = Date.now() / 1000 - 60
    utimesSync(lock, old, old)
    await saveProfile(folder, 'b', profile, 'sk-b')
    expect(Object.keys(readConfig(folder).profiles)).toEqual(['a', 'b'])
    expect(readdirSync(folder)).not.toContain('.lock')
  })

  it('wait for the previous one', async () => {
    const folder = fresh()
    mkdirSync(folder, { mode: 0o700 })
    writeFileSync(join(folder, '.lock'), '')
    let isSaved = false
    const saving = saveProfile(folder, 'a', profile, 'sk-a').then(() => {
      isSaved = true
    })
    await new Promise(resolve => setTimeout(resolve, 150))
    expect(isSaved).toBe(false)
    rmSync(join(folder, '.lock'))
    await saving
    expect(Object.keys(readConfig(folder).profiles)).toEqual(['a'])
  })
})

it('files that are links stay links, and their targets are written', async () => {
  const [folder, elsewhere] = [fresh(), fresh()]
  for (const path of [folder, elsewhere]) mkdirSync(path, { mode: 0o700 })
  writeFileSync(join(elsewhere, 'real.json'), '{}', { mode: 0o644 })
  symlinkSync(join(elsewhere, 'real.json'), join(folder, 'credentials.json'))
  await saveProfile(folder, 'a', profile, apiKey)
  expect(lstatSync(join(folder, 'credentials.json')).isSymbolicLink()).toBe(true)
  expect(JSON.parse(readFileSync(join(elsewhere, 'real.json'), 'utf8'))['a'].api_key).toBe(apiKey)
  expect(statSync(join(elsewhere, 'real.json')).mode & 0o777).toBe(0o600)
})

it('when the folder is a file, exits with 1 and names its path', async () => {
  const folder = fresh()
  writeFileSync(folder, '')
  const args = ['config', 'set', 'base_url', 'https://a.example']
  const { code, stderr } = await run(args, { env: { CONSENTCTL_CONFIG_DIR: folder } })
  expect([1, 2]).toContain(code)
  expect(stderr).toContain(folder)
  expect(stderr).not.toContain('bug')
})

describe.runIf(canGiveUpRights)('files of another user', () => {
  /** A folder of root's with a key, that others may look into. */
  async function foreign(fileMode: number) {
    const folder = fresh()
    await saveProfile(folder, 'a', profile, apiKey)
    chmodSync(root.path, 0o755)
    chmodSync(folder, 0o755)
    for (const file of readdirSync(folder)) chmodSync(join(folder, file), fileMode)
    return { folder, env: { CONSENTCTL_CONFIG_DIR: folder, CONSENTCTL_BASE_URL: 'https://a.example' } }
  }

  it('a readable file is used, with a warning that its mode cannot be changed', async () => {
    const { folder, env } = await foreign(0o644)
    const { code, stdout, stderr } = await asNobody(['config', 'list', '-o', 'tsv'], env)
    expect(code).toBe(0)
    expect(stdout).toContain('api_key\tsk-…')
    expect(stderr).toMatch(/^warning: .*credentials\.json is open to others and cannot be restricted \(EPERM\)/)
    expect(statSync(join(folder, 'credentials.json')).mode & 0o777).toBe(0o644)
  })

  it('an unreadable file exits with 2 and its path', async () => {
    const { folder, env } = await foreign(0o600)
    expectNoStdout(await asNobody(['list'], env), 2, join(folder, 'config.json'), 'EACCES')
  })

  it('a read-only folder exits with 1, and nothing is changed', async () => {
    const { folder, env } = await foreign(0o644)
    const before = readFileSync(join(folder, 'config.json'), 'utf8')
    for (const line of ['config set protected true', 'config unset site']) {
      expectNoStdout(await asNobody(line.split(' '), env), 1, `cannot write to ${folder}: EACCES`)
    }
    expect(readFileSync(join(folder, 'config.json'), 'utf8')).toBe(before)
  })

  it('the key_command in another user’s files is not run', async () => {
    const { folder, env } = await foreign(0o644)
    const mark = join(folder, 'ran')
    await changeConfig(folder, config => ({
      ...config,
      profiles: { a: { ...profile, key_command: `echo ran > ${mark}; echo ${apiKey}` } },
    }))
    chownSync(join(folder, 'config.json'), 1234, 1234)
    expectExit(await run(['auth', 'token'], { env }), 2, 'can be changed by others')
    expect(readdirSync(folder)).not.toContain('ran')
  })
})
