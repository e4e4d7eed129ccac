import { describe, expect, it } from 'vitest'
import { configFolder, stateFolder } from '../../../src/settings/folders.ts'
import { run } from '../../support/cli.ts'
import { expectNoStdout, jsonOf } from '../support.ts'

type Env = Record<string, string>

describe('folder of the configuration', () => {
  const cases: [env: Env, platform: string, folder: string | undefined, source?: string][] = [
    [{ CONSENTCTL_CONFIG_DIR: '/c', XDG_CONFIG_HOME: '/x', HOME: '/h' }, 'linux', '/c', 'CONSENTCTL_CONFIG_DIR'],
    [{ CONSENTCTL_CONFIG_DIR: 'relative', HOME: '/h' }, 'linux', 'relative', 'CONSENTCTL_CONFIG_DIR'],
    [{ XDG_CONFIG_HOME: '/x', HOME: '/h' }, 'linux', '/x/consentctl', 'XDG_CONFIG_HOME'],
    [{ XDG_CONFIG_HOME: 'relative', HOME: '/h' }, 'linux', '/h/.config/consentctl', 'default'],
    [{ XDG_CONFIG_HOME: './x', HOME: '/h' }, 'linux', '/h/.config/consentctl', 'default'],
    [{ HOME: '/h' }, 'linux', '/h/.config/consentctl', 'default'],
    [{ HOME: '/h' }, 'darwin', '/h/.config/consentctl', 'default'],
    [{ CONSENTCTL_CONFIG_DIR: '', XDG_CONFIG_HOME: '', HOME: '/h' }, 'linux', '/h/.config/consentctl'],
    [{ APPDATA: 'C:\\A', USERPROFILE: 'C:\\U' }, 'win32', 'C:\\A\\consentctl', 'APPDATA'],
    [{ USERPROFILE: 'C:\\U' }, 'win32', 'C:\\U\\.config\\consentctl', 'default'],
    [{ APPDATA: 'A', USERPROFILE: 'C:\\U' }, 'win32', 'C:\\U\\.config\\consentctl', 'default'],
    [{ APPDATA: '/a', HOME: '/h' }, 'linux', '/h/.config/consentctl', 'default'],
    [{}, 'linux', undefined],
    [{ HOME: '' }, 'linux', undefined],
    [{ HOME: 'relative' }, 'linux', undefined],
  ]

  it.each(cases)('%j on %s: %s', (env, platform, folder, source) => {
    const found = configFolder(env, platform)
    expect(found?.value).toBe(folder)
    if (source) expect(found?.source).toBe(source)
  })
})

describe('folder of the job files', () => {
  const cases: [env: Env, platform: string, folder: string][] = [
    [{ CONSENTCTL_STATE_DIR: '/s', XDG_STATE_HOME: '/x', HOME: '/h' }, 'linux', '/s'],
    [{ XDG_STATE_HOME: '/x', HOME: '/h' }, 'linux', '/x/consentctl'],
    [{ XDG_STATE_HOME: 'x', HOME: '/h' }, 'linux', '/h/.local/state/consentctl'],
    [{ HOME: '/h' }, 'darwin', '/h/.local/state/consentctl'],
    [{ LOCALAPPDATA: 'C:\\L', USERPROFILE: 'C:\\U' }, 'win32', 'C:\\L\\consentctl\\state'],
    [{ USERPROFILE: 'C:\\U' }, 'win32', 'C:\\U\\.local\\state\\consentctl'],
  ]

  it.each(cases)('%j on %s: %s', (env, platform, folder) => {
    expect(stateFolder(env, platform).value).toBe(folder)
  })

  it('when there is no home folder, throws an error that names the variable to set', () => {
    expect(() => stateFolder({}, 'linux')).toThrow(
      expect.objectContaining({ exit: 2, hint: expect.stringContaining('CONSENTCTL_STATE_DIR') }),
    )
  })
})

describe('without a home folder', () => {
  const env = { CONSENTCTL_BASE_URL: 'https://x.example' }

  it('reads only the environment', async () => {
    const rows = jsonOf(await run(['config', 'list', '--json'], { env })) as { setting: string; value: string | null }[]
    expect(rows).toContainEqual({ setting: 'config_folder', value: null, source: 'not set' })
    expect(rows).toContainEqual({
      setting: 'base_url',
      value: 'https://x.example',
      source: 'CONSENTCTL_BASE_URL',
    })
  })

  it.each(['config set site 01939d2c-7b1a-7c3e-9a51-000000000abc', 'config path', 'auth logout'])(
    '%s exits with 2 and names the variable to set',
    async line => {
      expectNoStdout(await run(line.split(' '), { env }), 2, 'CONSENTCTL_CONFIG_DIR')
    },
  )
})
