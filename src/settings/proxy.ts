import { settingsError } from '../errors/errors.ts'
import { isLoopback } from './settings.ts'

export interface Proxy {
  /** Its address, with the credentials for it. */
  readonly url: string
  /** The same without them. */
  readonly shown: string
  /** The variable that names it. */
  readonly source: string
}

type Env = Readonly<Record<string, string | undefined>>

/**
 * The proxy that the environment names for an address; null for none. What is on this machine is never asked of one,
 * which would be shown the key. Throws a CliError for a proxy that cannot be used: to pass it by would surprise too.
 */
export function proxyFor(address: string, env: Env): Proxy | null {
  const { protocol, hostname, port } = new URL(address)
  if (isLoopback(hostname) || isExempt(hostname, port || usualPort(protocol), env)) return null
  const names = [protocol === 'https:' ? 'HTTPS_PROXY' : 'HTTP_PROXY', 'ALL_PROXY']
  const source = names.flatMap(name => [name.toLowerCase(), name]).find(name => env[name])
  if (source === undefined) return null
  const value = env[source] ?? ''
  const text = value.includes('://') ? value : `http://${value}`
  const url = URL.canParse(text) ? new URL(text) : null
  if (url === null || !/^https?:$/.test(url.protocol) || url.hostname === '') {
    throw settingsError(
      `the proxy that ${source} names is none that can be used`,
      `write it like http://proxy.example.com:3128, or set NO_PROXY=${hostname} to go without`,
    )
  }
  return { url: url.href, shown: url.origin, source }
}

/** Whether NO_PROXY names a host: `*`, a domain with what is under it, each perhaps with a port. */
function isExempt(hostname: string, port: string, env: Env): boolean {
  const entries = (env['no_proxy'] || env['NO_PROXY'] || '').toLowerCase().split(/[\s,]+/)
  return entries.filter(Boolean).some(entry => {
    if (entry === '*') return true
    const [, name = '', only] = /^(\[.*\]|[^:]*)(?::(\d+))?$/.exec(entry) ?? [undefined, entry]
    const domain = name.replace(/^\*?\./, '')
    const isHost = hostname === domain || hostname.endsWith(`.${domain}`) || hostname === `[${entry}]`
    return isHost && domain !== '' && (only === undefined || only === port)
  })
}

function usualPort(protocol: string): string {
  return protocol === 'https:' ? '443' : '80'
}
