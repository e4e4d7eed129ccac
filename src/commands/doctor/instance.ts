import { lookup } from 'node:dns/promises'
import { isIP } from 'node:net'
import type { Probed } from '../../client/probed.ts'
import type { Context } from '../../context.ts'
import { settingsError } from '../../errors/errors.ts'
import { exit } from '../../errors/exit.ts'
import { proxyFor } from '../../settings/proxy.ts'
import { isLoopback, requireBaseUrl } from '../../settings/settings.ts'
import { checkAnswer } from './answer.ts'
import { type Checked, fail, ok, skip, tried, warn } from './check.ts'
import { checkKey } from './key.ts'
import { checkAuthorities } from './local.ts'

/** Milliseconds that one request may take. */
const limit = 8000

/** What can be said of the instance. What does not depend on something else is asked at once. */
export async function checkInstance(ctx: Context): Promise<Checked[]> {
  const address = await tried('base_url', () => checkAddress(ctx))
  if (address.row.result === 'fail') return [address, skip('connection', 'there is no address to reach')]
  const url = new URL(requireBaseUrl(ctx.settings))
  const proxy = proxyFor(url.href, ctx.host.env)
  const open = ctx.apiWith(null)
  const start = Date.now()
  const [dns, connection, key, version] = await Promise.all([
    proxy ? skip('dns', 'the proxy looks the name up') : tried('dns', () => checkName(url.hostname)),
    open.probe('/ready', limit).then(
      probed => ({ probed, took: Date.now() - start }),
      (error: unknown) => ({ error }),
    ),
    checkKey(ctx, limit),
    open.probe('/api/v1/openapi.json', limit).then(versionOf, () => null),
  ])
  const reached = await tried('connection', () => {
    if ('error' in connection) throw connection.error
    return ok('connection', `${url.origin} answered in ${connection.took} ms`)
  })
  const answered = 'error' in connection ? [] : checkAnswer(connection.probed, connection.took, version)
  return [address, checkAuthorities(ctx), checkProxy(proxy), dns, reached, ...answered, ...key]
}

function checkAddress({ settings }: Context): Checked {
  const value = requireBaseUrl(settings)
  const detail = `${value} (${settings.baseUrl?.source}), profile ${settings.profile.value}`
  const { protocol, hostname } = new URL(value)
  if (protocol === 'https:' || isLoopback(hostname)) return ok('base_url', detail)
  return warn('base_url', `${detail}: not encrypted`, 'everybody on the way can read the key; use https')
}

async function checkName(hostname: string): Promise<Checked> {
  if (isIP(hostname.replace(/^\[|\]$/g, '')) !== 0) return skip('dns', 'the address needs no name')
  const start = Date.now()
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(settingsError('the name was not found in 5 s')), 5000)
  })
  try {
    const found = await Promise.race([lookup(hostname, { all: true }), late])
    return ok(
      'dns',
      `${hostname} is ${found.map(({ address }) => address).join(', ')} (${Date.now() - start} ms)`,
    )
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    return fail('dns', exit.temporary, reason, 'check the host’s name, and this machine’s network')
  } finally {
    clearTimeout(timer)
  }
}

function checkProxy(proxy: ReturnType<typeof proxyFor>): Checked {
  return proxy ? ok('proxy', `${proxy.source}: ${proxy.shown}`) : skip('proxy', 'none is used')
}

/** The version that the service says it has; null where it does not say. */
function versionOf({ status, text }: Probed): string | null {
  try {
    const { info } = JSON.parse(status === 200 ? text : '{}') as { info?: { version?: unknown } }
    return typeof info?.version === 'string' ? info.version.slice(0, 40) : null
  } catch {
    return null
  }
}
