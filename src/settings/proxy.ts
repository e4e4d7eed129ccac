import type { Connection } from '../client/request.ts'
import { settingsError } from '../errors/errors.ts'
import type { Env } from './folders.ts'
import { isLoopback } from './settings.ts'

/** None for loopback addresses: it would see the key. @throws CliError (settings) */
export function proxyFor(address: string, env: Env): Connection['proxy'] {
  const { protocol, hostname, port } = new URL(address)
  if (isLoopback(hostname) || isExempt(hostname, port || defaultPort(protocol), env)) return null
  const names = [protocol === 'https:' ? 'HTTPS_PROXY' : 'HTTP_PROXY', 'ALL_PROXY']
  const source = names.flatMap(name => [name.toLowerCase(), name]).find(name => env[name])
  if (source === undefined) return null
  const value = env[source] ?? ''
  const text = value.includes('://') ? value : `http://${value}`
  const url = URL.canParse(text) ? new URL(text) : null
  if (url === null || !/^https?:$/.test(url.protocol) || url.hostname === '') {
    throw settingsError(
      `${source}: invalid proxy address`,
      `use an address like http://proxy.example.com:3128, or set NO_PROXY=${hostname}`,
    )
  }
  return { url: url.href, shown: url.origin, source }
}

/** NO_PROXY: `*`, or domains with their subdomains, each with an optional port. */
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

function defaultPort(protocol: string): string {
  return protocol === 'https:' ? '443' : '80'
}
