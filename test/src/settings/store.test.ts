import { chmodSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { readConfig, readCredentials, removeKey, saveProfile } from '../../../src/settings/store.ts'
import { useFolder } from '../../support/cli.ts'
import { expectExit, expectNoStdout, machineError, useCli } from '../support.ts'

const cli = useCli()
const root = useFolder()
let folders = 0
const fresh = () => join(root.path, String(++folders))
const modeOf = (path: string) => (statSync(path).mode & 0o777).toString(8)
const ignore = () => {}

describe('stored files', () => {
  const profile = { base_url: 'https://a.example' }

  it('are readable only by the owner: mode 0600 in a folder with 0700, without extra files', async () => {
    const folder = fresh()
    await saveProfile(folder, 'a.b', profile, 'sk-secret')
    expect(modeOf(folder)).toBe('700')
    expect(readdirSync(folder).sort()).toEqual(['config.json', 'credentials.json'])
    for (const file of readdirSync(folder)) expect(modeOf(join(folder, file))).toBe('600')
  })

  it('contain the key only in credentials.json', async () => {
    const folder = fresh()
    await saveProfile(folder, 'a', profile, 'sk-secret')
    expect(readFileSync(join(folder, 'config.json'), 'utf8')).not.toContain('sk-secret')
    expect(readCredentials(folder, ignore)).toEqual({
      a: { api_key: 'sk-secret', base_url: profile.base_url },
    })
  })

  it.each(['a.b', 'a b', 'é', '0', 'constructor'])('keep a profile named %j separate from others', async name => {
    const folder = fresh()
    await saveProfile(folder, 'first', { ...profile, site: 's' }, 'sk-1')
    await saveProfile(folder, name, { base_url: 'https://b.example' }, 'sk-2')
    await saveProfile(folder, 'first', { base_url: 'https://c.example' }, 'sk-3')
    expect(readConfig(folder)).toEqual({
      profile: 'first',
      profiles: {
        first: { base_url: 'https://c.example', site: 's' },
        [name]: { base_url: 'https://b.example' },
      },
    })
    expect(readCredentials(folder, ignore)[name]?.api_key).toBe('sk-2')
    expect(await removeKey(folder, name)).toBe(true)
    expect(await removeKey(folder, name)).toBe(false)
    expect(Object.keys(readCredentials(folder, ignore))).toEqual(['first'])
  })

  it('returns false when it removes the key of a profile named constructor', async () => {
    expect(await removeKey(fresh(), 'constructor')).toBe(false)
  })
})

describe('permissions that are too open', () => {
  const listed = (folder: string) => cli.run(['config', 'list'], { env: { CONSENTCTL_CONFIG_DIR: folder } })

  it.each([0o644, 0o640, 0o604, 0o660, 0o666])('on the keys are corrected with a warning: %o', async mode => {
    const folder = fresh()
    await saveProfile(folder, 'a', { base_url: 'https://a.example' }, 'sk-secret')
    const file = join(folder, 'credentials.json')
    chmodSync(file, mode)
    expectExit(await listed(folder), 0, /^warning: .*credentials\.json.*\n$/)
    expect(modeOf(file)).toBe('600')
    expect((await listed(folder)).stderr).toBe('')
  })

  it('on the folder are corrected with a warning', async () => {
    const folder = join(fresh(), 'consentctl')
    await saveProfile(folder, 'a', { base_url: 'https://a.example' }, 'sk-secret')
    chmodSync(folder, 0o777)
    expectExit(await listed(folder), 0, /^warning: /)
    expect(modeOf(folder)).toBe('700')
  })

  it('on a folder with another name stay unchanged, with a warning', async () => {
    const folder = fresh()
    await saveProfile(folder, 'a', { base_url: 'https://a.example' }, 'sk-secret')
    chmodSync(folder, 0o775)
    expectExit(await listed(folder), 0, 'replace your keys')
    expect(modeOf(folder)).toBe('775')
  })

  it('on a shared folder such as /tmp stay unchanged', async () => {
    const folder = fresh()
    await saveProfile(folder, 'a', { base_url: 'https://a.example' }, 'sk-secret')
    chmodSync(folder, 0o1777)
    expect(await listed(folder)).toMatchObject({ code: 0, stderr: '' })
    expect(statSync(folder).mode & 0o7777).toBe(0o1777)
  })
})

describe('an unusable file exits with 2, its path and its line', () => {
  it.each([
    ['config.json', '{\n  "profile": "a",\n  oops\n}\n', 3],
    ['config.json', '{\n  "profile": "a",\n  "profiles": {\n', 4],
    ['config.json', '', 1],
    ['credentials.json', '{"a": {"api_key": "sk-secret"\n\n', 3],
    ['credentials.json', '{\n"a":\n{"api_key":sk-secret}}', 3],
    ['config.json', '{\n  "a": tru,\n  "b": 1\n}\n', 2],
    ['config.json', '{\n  "a": "x\n",\n  "b": 1\n}\n', 2],
  ])('reports %s: %j', async (name, text, line) => {
    const folder = fresh()
    mkdirSync(folder, { mode: 0o700 })
    writeFileSync(join(folder, name), text, { mode: 0o600 })
    const env = { CONSENTCTL_CONFIG_DIR: folder, CONSENTCTL_API_KEY: undefined }
    const { code, stdout, stderr } = await cli.run(['list', '-o', 'ndjson'], { env })
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    const { code: told, message } = machineError(stderr)
    expect(told).toBe('settings')
    expect(message).toContain(`${join(folder, name)}, line ${line}`)
    expect(stderr).not.toContain('sk-secret')
  })

  it.each([
    ['config.json', '[]'],
    ['config.json', '{"profiles": {"a": {"base_url": 7}}}'],
    ['credentials.json', '{"a": {"api_key": 7, "base_url": "https://a.example"}}'],
    ['credentials.json', '{"a": "sk-secret"}'],
  ])('%s with an invalid shape: %s', async (name, text) => {
    const folder = fresh()
    mkdirSync(folder, { mode: 0o700 })
    writeFileSync(join(folder, name), text, { mode: 0o600 })
    const ran = await cli.run(['list'], { env: { CONSENTCTL_CONFIG_DIR: folder } })
    expectNoStdout(ran, 2, join(folder, name))
    expect(ran.stderr).not.toContain('sk-secret')
  })

  it('a folder in place of a file', async () => {
    const folder = fresh()
    mkdirSync(join(folder, 'config.json'), { recursive: true, mode: 0o700 })
    const ran = await cli.run(['config', 'list'], { env: { CONSENTCTL_CONFIG_DIR: folder } })
    expectExit(ran, 2, join(folder, 'config.json'))
  })
})
