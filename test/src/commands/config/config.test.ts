import { expect, it } from 'vitest'
import { saveProfile } from '../../../../src/settings/store.ts'
import { run } from '../../../support/cli.ts'
import { apiKey, useCli } from '../../support.ts'

const cli = useCli()

/** `config list` as pairs of value and source. */
async function configList(args: string[], env: Record<string, string>) {
  const { code, stdout, stderr } = await run(['config', 'list', '--json', ...args], { env })
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  expect(stdout).not.toContain(apiKey)
  const rows = JSON.parse(stdout) as { setting: string; value: string | null; source: string }[]
  return Object.fromEntries(rows.map(({ setting, value, source }) => [setting, [value, source]]))
}

it('lists every setting with its effective value and source', async () => {
  const folder = cli.freshFolder()
  const shop = { base_url: 'https://shop.example', site: 's', email: 'maria@example.com', ca_file: '/p.pem' }
  await saveProfile(folder, 'shop', shop, apiKey)
  await saveProfile(folder, 'bare', { base_url: 'https://bare.example' }, apiKey)
  const dir = { CONSENTCTL_CONFIG_DIR: folder }

  expect(await configList([], dir)).toEqual({
    config_folder: [folder, 'CONSENTCTL_CONFIG_DIR'],
    state_folder: [null, 'not set'],
    profile: ['shop', 'config.json'],
    base_url: ['https://shop.example', 'profile shop'],
    site: ['s', 'profile shop'],
    email: ['maria@example.com', 'profile shop'],
    protected: ['false', 'default'],
    api_key: ['sk-…a1b2', 'profile shop, credentials.json'],
    key_command: [null, 'not set'],
    ca_file: ['/p.pem', 'profile shop'],
    timeout: [null, 'not set'],
    max_wait: ['60', 'default'],
    allow_http: [null, 'not set'],
    error_format: [null, 'not set'],
    output: ['json', 'flag'],
  })
  const env = { CONSENTCTL_BASE_URL: 'https://env.example/', CONSENTCTL_API_KEY: 'sk-environment-key-z9z9' }
  expect(
    await configList([], {
      ...{ ...dir, ...env, CONSENTCTL_SITE: 'e', CONSENTCTL_EMAIL: 'li@example.com' },
      ...{ CONSENTCTL_PROFILE: 'bare', CONSENTCTL_CA_FILE: '/ca.pem', CONSENTCTL_STATE_DIR: '/state' },
      ...{ CONSENTCTL_ALLOW_HTTP: ' a, b ', CONSENTCTL_ERROR_FORMAT: 'json' },
    }),
  ).toMatchObject({
    profile: ['bare', 'CONSENTCTL_PROFILE'],
    base_url: ['https://env.example', 'CONSENTCTL_BASE_URL'],
    site: ['e', 'CONSENTCTL_SITE'],
    email: ['li@example.com', 'CONSENTCTL_EMAIL'],
    api_key: ['sk-…z9z9', 'CONSENTCTL_API_KEY'],
    state_folder: ['/state', 'CONSENTCTL_STATE_DIR'],
    ca_file: ['/ca.pem', 'CONSENTCTL_CA_FILE'],
    allow_http: ['a,b', 'CONSENTCTL_ALLOW_HTTP'],
    error_format: ['json', 'CONSENTCTL_ERROR_FORMAT'],
  })
  const flags = ['-p', 'bare', '--base-url', 'https://flag.example', '--ca-file', '/f.pem']
  expect(await configList(flags, { ...dir, ...env, CONSENTCTL_CA_FILE: '/ca.pem' })).toMatchObject({
    profile: ['bare', '--profile'],
    base_url: ['https://flag.example', '--base-url'],
    site: [null, 'not set'],
    ca_file: ['/f.pem', '--ca-file'],
  })
})

it('lists settings that are not set', async () => {
  expect(await configList([], { HOME: '/nowhere' })).toMatchObject({
    config_folder: ['/nowhere/.config/consentctl', 'default'],
    profile: ['default', 'default'],
    base_url: [null, 'not set'],
    site: [null, 'not set'],
    email: [null, 'not set'],
    api_key: [null, 'not set'],
  })
})

it('masks a short key completely', async () => {
  const settings = await configList([], { HOME: '/nowhere', CONSENTCTL_API_KEY: 'sk-short' })
  expect(settings['api_key']).toEqual(['…', 'CONSENTCTL_API_KEY'])
})
