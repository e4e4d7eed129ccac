import { useFolder } from '../../support/cli.ts'
import { useConnectProxy } from '../../support/connect-proxy.ts'
import { useScriptedServer } from '../../support/scripted-server.ts'
import { apiKey } from '../support.ts'

/** A scripted server, and the ways to it by their environments: with Node's own HTTP, and with undici through a proxy. */
export function useWays() {
  const faulty = useScriptedServer()
  const tunnel = useConnectProxy(() => faulty.port)
  const folder = useFolder()
  const env = (more: Record<string, string>) => ({
    ...{ CONSENTCTL_API_KEY: apiKey, CONSENTCTL_CONFIG_DIR: folder.path, CONSENTCTL_MAX_WAIT: '0' },
    ...more,
  })
  const ways: [name: string, env: () => Record<string, string>][] = [
    ['direct', () => env({ CONSENTCTL_BASE_URL: faulty.url })],
    [
      'through a proxy',
      () =>
        env({
          CONSENTCTL_BASE_URL: `http://instance.test:${faulty.port}`,
          ...{ CONSENTCTL_ALLOW_HTTP: 'instance.test', HTTP_PROXY: tunnel.url },
        }),
    ],
  ]
  return { faulty, ways }
}

/** The connection of a client, without waits. */
export const connectionTo = (baseUrl: string) => ({
  ...{ baseUrl, key: { value: apiKey, source: 'a test' }, userAgent: 'test/1' },
  ...{ proxy: null, ca: null, timeout: null, maxWait: 0, trace: null },
  pause: async (_seconds: number) => {},
  interruption: new AbortController().signal,
})
