import type { Connection, Trace } from '../client/request.ts'
import type { Context } from '../context.ts'
import { usageError } from '../errors/errors.ts'
import type { Io } from '../io/io.ts'
import { visible } from '../output/index.ts'
import { proxyFor } from './proxy.ts'
import { parseSeconds } from './seconds.ts'
import { requireBaseUrl, type Sourced } from './settings.ts'

/** Seconds that are waited at most before a request is sent again, unless said. */
const usualMaxWait = 60

/**
 * Where requests go, with which key, on which way and how patiently. Throws a CliError for a flag, a variable or a file
 * that makes no sense.
 */
export async function connectionOf(
  ctx: Pick<Context, 'settings' | 'host' | 'globals' | 'io' | 'interruption'>,
  readKey: () => Promise<Sourced | null>,
  version: string,
): Promise<Connection> {
  const { settings, host, globals, io } = ctx
  const { env } = host
  const chosen = (flag: string, value: string | undefined): Sourced | null => {
    const variable = `CONSENTCTL_${flag.toUpperCase().replace('-', '_')}`
    const [source, text] = value === undefined ? [variable, env[variable]] : [`--${flag}`, value]
    if (text === '' && value !== undefined) throw usageError(`${source} must not be empty`)
    return text ? { value: text, source } : null
  }
  const seconds = (setting: Sourced | null, least: number) =>
    setting && parseSeconds(setting.value, setting.source, least)
  const baseUrl = requireBaseUrl(settings)
  const key = await readKey()
  const timeout = seconds(chosen('timeout', globals.timeout), 0.001)
  const maxWait = seconds(chosen('max-wait', globals.maxWait), 0) ?? usualMaxWait
  const { caFile } = settings
  const connection = {
    baseUrl,
    key,
    userAgent: `consentctl/${version} node/${host.version}`,
    proxy: proxyFor(baseUrl, env),
    ca: caFile && (await authorities(caFile, env['NODE_EXTRA_CA_CERTS'])),
    timeout: timeout && timeout * 1000,
    maxWait,
    pause,
    interruption: ctx.interruption, // from now on: while a key is read, a signal ends the process as ever
    trace: io.err.isTerminal && !globals.quiet ? teller(io) : null,
  }
  if (!globals.verbose && !globals.debug) return connection
  const { openTrace } = await import('../logging/trace.ts')
  return { ...connection, trace: openTrace(connection, { settings, globals, io, caFile }) }
}

async function authorities(file: Sourced, extra: string | undefined): Promise<string[]> {
  return (await import('./authorities.ts')).readAuthorities(file, extra)
}

async function pause(seconds: number, signal: AbortSignal): Promise<void> {
  const { setTimeout } = await import('node:timers/promises')
  await setTimeout(seconds * 1000, undefined, { signal })
}

/** Who watches is told why nothing happens. */
function teller(io: Io): Trace {
  return {
    follow: (_call, _request, send) => send(),
    waits: (error, seconds) =>
      seconds >= 1 &&
      void io.err.write(`${visible(error.message)}; again in ${Math.ceil(seconds)} s\n`).catch(() => {}),
  }
}
