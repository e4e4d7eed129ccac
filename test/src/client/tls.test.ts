import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { beforeAll, describe, expect, it } from 'vitest'
import { run, runBinary, useFolder } from '../../support/cli.ts'
import { useConnectProxy } from '../../support/connect-proxy.ts'
import { respond, type ScriptedServer, useScriptedServer } from '../../support/scripted-server.ts'
import { apiKey, expectExit, expectNoStdout } from '../support.ts'

const path = (name: string) => fileURLToPath(new URL(`../../fixtures/tls/${name}`, import.meta.url))
const server = (name: string) =>
  useScriptedServer(() => ({
    cert: readFileSync(path(`${name}.pem`)),
    key: readFileSync(path('server.key')),
  }))
const [valid, expired, early, other] = ['valid', 'expired', 'early', 'other-host'].map(server) as [
  ScriptedServer,
  ScriptedServer,
  ScriptedServer,
  ScriptedServer,
]
const tunnel = useConnectProxy(() => valid.port)
const folder = useFolder()
const ca = path('ca.pem')
const empty = respond(200, { data: [], next_cursor: null })

const env = (more: Record<string, string>) => ({
  CONSENTCTL_API_KEY: apiKey,
  CONSENTCTL_CONFIG_DIR: folder.path,
  CONSENTCTL_MAX_WAIT: '0',
  ...more,
})
const list = (faulty: ScriptedServer, args: string[], more: Record<string, string> = {}) => {
  faulty.script(empty)
  return run(['list', '--json', ...args], { env: env({ CONSENTCTL_BASE_URL: faulty.url, ...more }) })
}

describe('client › TLS › custom authority', () => {
  it('is trusted only if --ca-file or the environment names its file', async () => {
    expect(await list(valid, ['--ca-file', ca])).toMatchObject({ code: 0, stdout: '[]\n' })
    expect(await list(valid, [], { CONSENTCTL_CA_FILE: ca })).toMatchObject({ code: 0 })
    expect(valid.requests).toHaveLength(2)
    expectExit(await list(valid, []), 2, { hint: expect.stringContaining('--ca-file') })
    expect(valid.requests).toHaveLength(2)
  })

  it('is trusted through a proxy too', async () => {
    const more = { CONSENTCTL_BASE_URL: 'https://127.0.0.1.test', https_proxy: tunnel.url }
    expectExit(await list(valid, ['--ca-file', ca], more), 2, { hint: expect.stringContaining('another host') }) // so its authority was taken
    expect(tunnel.requests[0]).toMatch(/^CONNECT 127\.0\.0\.1\.test:443 /)
    expect(tunnel.requests.join('')).not.toContain(apiKey)
  })

  it('is trusted if NODE_EXTRA_CA_CERTS names it, even with another one in --ca-file', async () => {
    valid.script(empty)
    const more = env({ CONSENTCTL_BASE_URL: valid.url, NODE_EXTRA_CA_CERTS: ca })
    expect(await runBinary(['list', '--json'], { env: more })).toMatchObject({ code: 0 })
    const args = ['list', '--json', '--ca-file', path('expired.pem')]
    expect(await runBinary(args, { env: more })).toMatchObject({ code: 0 })
  })

  describe('file that cannot be read', () => {
    beforeAll(() => {
      writeFileSync(join(folder.path, 'text.pem'), 'no certificate')
      const [begin, end] = ['-----BEGIN CERTIFICATE-----', '-----END CERTIFICATE-----']
      writeFileSync(join(folder.path, 'broken.pem'), `${begin}\nAAAA\n${end}\n`)
    })

    it.each(['missing.pem', 'text.pem', 'broken.pem', ''])('exits with 2 before any request: %j', async name => {
      expectNoStdout(await list(valid, ['--ca-file', join(folder.path, name)]), 2, '--ca-file')
      expect(valid.requests).toEqual([])
    })
  })
})

it.each([
  ['expired', () => expired, /clock \(2\d{3}-/],
  ['not yet valid', () => early, /clock \(2\d{3}-/],
  ['for another host', () => other, /another host/],
])(
  'client › TLS › when a certificate is %s, exits with a hint after one attempt without sending anything',
  async (_, faulty, hint) => {
    expectExit(await list(faulty(), ['--ca-file', ca]), 2, { hint: expect.stringMatching(hint) })
    expect(faulty().requests).toEqual([])
  },
)
