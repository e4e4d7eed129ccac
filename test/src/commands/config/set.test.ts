import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, it } from 'vitest'
import { saveProfile } from '../../../../src/settings/store.ts'
import { run } from '../../../support/cli.ts'
import { apiKey, expectExit, expectNoStdout, machineError, site, useCli, words } from '../../support.ts'

const cli = useCli()
let folder = ''
beforeEach(() => {
  folder = cli.freshFolder()
})

/** `config` with these words, in a folder of this test's own and with nothing else in the environment. */
function config(line: string, env: Record<string, string> = {}) {
  return run(['config', ...words(line)], { env: { CONSENTCTL_CONFIG_DIR: folder, HOME: '/nowhere', ...env } })
}

const stored = () => JSON.parse(readFileSync(join(folder, 'config.json'), 'utf8'))
const save = (name: string, more: object = {}) =>
  saveProfile(folder, name, { base_url: `https://${name}.example`, ...more }, apiKey)

describe('config set', () => {
  it.each([
    ['base_url HTTPS://New.example:443/x/', 'base_url', 'https://new.example/x'],
    ['email maria@example.com', 'email', 'maria@example.com'],
    ['protected yes', 'protected', true],
    ['protected FALSE', 'protected', false],
    ["key_command 'pass show x | head -1'", 'key_command', 'pass show x | head -1'],
  ])('stores %s', async (line, key, value) => {
    await save('shop')
    expect(await config(`set ${line}`)).toMatchObject({ code: 0, stdout: '' })
    expect(stored().profiles.shop).toEqual({ base_url: 'https://shop.example', [key]: value })
  })

  it('sets it only in the given profile', async () => {
    await save('shop')
    await save('staging')
    await config('set protected true -p staging')
    await config('set email a@b.example', { CONSENTCTL_PROFILE: 'staging' })
    expect(stored()).toEqual({
      profile: 'shop',
      profiles: {
        shop: { base_url: 'https://shop.example' },
        staging: { base_url: 'https://staging.example', protected: true, email: 'a@b.example' },
      },
    })
  })

  it('a base_url creates the profile, and makes it the default if there is no other', async () => {
    expect(await config('set base_url https://x.example -p x')).toMatchObject({ code: 0 })
    expect(stored()).toEqual({ profile: 'x', profiles: { x: { base_url: 'https://x.example' } } })
    expect((await config('get base_url')).stdout).toBe('https://x.example\n')
  })

  it('keeps unknown settings', async () => {
    mkdirSync(folder, { mode: 0o700 })
    const later = { profile: 'a', theme: 1, profiles: { a: { base_url: 'https://a.example', colour: 'x' } } }
    writeFileSync(join(folder, 'config.json'), JSON.stringify(later))
    await config('set protected true')
    expect(stored()).toEqual({ ...later, profiles: { a: { ...later.profiles.a, protected: true } } })
  })

  it('replaces an invalid address', async () => {
    mkdirSync(folder, { mode: 0o700 })
    writeFileSync(join(folder, 'config.json'), '{"profile":"a","profiles":{"a":{"base_url":"nonsense"}}}')
    expect(await config('list')).toMatchObject({ code: 2 })
    expect(await config('set base_url https://a.example')).toMatchObject({ code: 0 })
    expect(await config('list')).toMatchObject({ code: 0 })
  })

  it('a ca_file is stored as an absolute path, and must contain a certificate', async () => {
    await save('shop')
    const [good, bad] = [join(folder, 'ca.pem'), join(folder, 'bad.pem')]
    writeFileSync(good, '-----BEGIN CERTIFICATE-----\n')
    writeFileSync(bad, 'nothing')
    expect(await config(`set ca_file ${good}`)).toMatchObject({ code: 0 })
    expect(stored().profiles.shop.ca_file).toBe(good)
    for (const wrong of [bad, join(folder, 'none.pem'), folder])
      expect(await config(`set ca_file ${wrong}`)).toMatchObject({ code: 2 })
  })

  it('profile sets the default profile, which must exist', async () => {
    await save('shop')
    await save('staging')
    expect(await config('set profile staging')).toMatchObject({ code: 0 })
    expect(stored().profile).toBe('staging')
    expectExit(await config('set profile prod'), 2, 'known profiles: shop, staging')
    expect(stored().profile).toBe('staging')
  })

  it('says that the stored key is not sent to a new address', async () => {
    await save('shop')
    const { stderr } = await config('set base_url https://other.example')
    expect(stderr).toContain('belongs to https://shop.example')
    expect((await config('set base_url https://shop.example/base')).stderr).not.toContain('belongs to')
  })
})

describe('config set › rejects an invalid name or value with exit code 2, and changes nothing', () => {
  it.each([
    ['set base_url nonsense', 'invalid address'],
    ['set base_url https://u:p4ssw0rd@x.example', 'credentials'],
    ['set base_url htp://u:p4ssw0rd@x.example', 'invalid address'],
    ['set site s', 'UUID'],
    ['set email maria', 'e-mail'],
    ['set protected maybe', 'invalid value "maybe"'],
    ["set key_command ' '", 'is not a command'],
    ["set site ''", 'must not be empty'],
    ['set base-url https://x.example', 'known settings: profile, base_url'],
    ['set baseurl https://x.example', 'known settings: profile, base_url'],
    ['set protect true', 'known settings: profile, base_url'],
    ['set colour red', 'known settings: profile, base_url, site, email, protected, key_command, ca_file'],
    ['set constructor x', 'unknown setting'],
    ['set api_key p4ssw0rd', 'cannot store secrets'],
    ['set password p4ssw0rd', 'cannot store secrets'],
    ['set token p4ssw0rd', 'use consentctl auth login'],
    ['set site', "missing required argument 'value'"],
    ['set', "missing required argument 'key'"],
    ['set a b c', 'unexpected argument "c"'],
    ['unset', "missing required argument 'key'"],
    ['unset sit', 'known settings: '],
    ['unset api_key', 'cannot store secrets'],
    ['unset site -p prod', 'known profiles: shop'],
    [`set site ${site} -p prod`, 'known profiles: shop'],
    ['get sit', 'known settings: '],
    ['remove prod', 'known profiles: shop'],
    ["set base_url https://x.example -p '\u001b[31m'", 'invalid profile name'],
  ])('rejects config %s', async (line, said) => {
    await save('shop')
    const before = stored()
    const ran = await config(line)
    expectNoStdout(ran, 2, said)
    for (const text of ['p4ssw0rd', '\u001b']) expect(ran.stderr).not.toContain(text)
    expect(stored()).toEqual(before)
  })

  it('rejects a key_command for a profile without an address', async () => {
    expect(await config('set key_command true')).toMatchObject({ code: 2 })
    expect(existsSync(join(folder, 'config.json'))).toBe(false)
  })

  it('reports an unknown setting as JSON with --json', async () => {
    const { stderr } = await config('set colour red --json')
    expect(machineError(stderr)).toMatchObject({ code: 'usage', exit: 2 })
  })

  it('never overwrites a corrupt file', async () => {
    mkdirSync(folder, { mode: 0o700 })
    const file = join(folder, 'config.json')
    writeFileSync(file, '{"profiles":\n{')
    for (const line of ['set base_url https://x.example', 'unset site', 'unset profile']) {
      expectExit(await config(line), 2, `${file}, line 2`)
    }
    expect(readFileSync(file, 'utf8')).toBe('{"profiles":\n{')
  })
})

describe('config get', () => {
  it('prints the effective value, whatever its source', async () => {
    await save('shop', { site })
    expect(await config('get site')).toEqual({ code: 0, stdout: `${site}\n`, stderr: '' })
    expect(await config('get site', { CONSENTCTL_SITE: 'env' })).toMatchObject({ stdout: 'env\n' })
    expect(JSON.parse((await config('get protected --json')).stdout)).toEqual({
      setting: 'protected',
      value: 'false',
      source: 'default',
    })
  })

  it('when the setting is not set, exits with 3', async () => {
    await save('shop')
    expect(await config('get site')).toMatchObject({ code: 3, stdout: '' })
  })

  it('shows only the last characters of a key', async () => {
    await save('shop')
    expect((await config('get api_key')).stdout).toBe('sk-…a1b2\n')
  })
})

describe('config unset', () => {
  it('removes one setting, and ignores one that is not set', async () => {
    await save('shop', { site })
    for (const _ of [1, 2]) expect(await config('unset site')).toMatchObject({ code: 0, stdout: '' })
    expect(stored().profiles.shop).toEqual({ base_url: 'https://shop.example' })
  })

  it('profile leaves no default profile', async () => {
    await save('shop')
    await config('unset profile')
    expect(stored()).toEqual({ profiles: { shop: { base_url: 'https://shop.example' } } })
  })
})

describe('profiles', () => {
  it('are listed with the source of their keys, without the keys', async () => {
    await save('shop', { site, protected: true })
    await config('set base_url https://b.example -p b')
    await config('set key_command ./print -p b')
    await config('set base_url https://c.example -p c')
    const { code, stdout } = await config('profiles --json')
    expect(code).toBe(0)
    expect(stdout).not.toContain(apiKey)
    const none = { is_default: false, site: null, email: null, protected: false }
    expect(JSON.parse(stdout)).toEqual([
      {
        ...{ ...none, name: 'shop', is_default: true, base_url: 'https://shop.example', site },
        ...{ protected: true, key: 'stored' },
      },
      { ...none, name: 'b', base_url: 'https://b.example', key: 'key_command' },
      { ...none, name: 'c', base_url: 'https://c.example', key: null },
    ])
    expect((await config('profiles -q')).stdout).toBe('shop\nb\nc\n')
  })

  it('are removed with their keys, and no default profile is left', async () => {
    await save('shop')
    await save('staging')
    const stderr = 'removed profile shop and its key, if it had one\n'
    expect(await config('remove shop')).toEqual({ code: 0, stdout: '', stderr })
    expect(stored()).toEqual({ profiles: { staging: { base_url: 'https://staging.example' } } })
    const keys = JSON.parse(readFileSync(join(folder, 'credentials.json'), 'utf8'))
    expect(Object.keys(keys)).toEqual(['staging'])
  })

  it('protected profiles are not removed', async () => {
    await save('shop', { protected: true })
    expect(await config('remove shop')).toMatchObject({ code: 2 })
    expect(Object.keys(stored().profiles)).toEqual(['shop'])
  })
})

it('config path prints the path of each file, existing or not', async () => {
  await save('shop')
  const { stdout } = await config('path -o tsv', { CONSENTCTL_STATE_DIR: '/nowhere/state' })
  expect(stdout).toBe(
    [
      `config_folder\t${folder}\ttrue`,
      `config_file\t${join(folder, 'config.json')}\ttrue`,
      `credentials_file\t${join(folder, 'credentials.json')}\ttrue`,
      'state_folder\t/nowhere/state\tfalse\n',
    ].join('\n'),
  )
})
