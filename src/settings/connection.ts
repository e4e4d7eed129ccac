import type { Connection, Trace } from '../client/request.ts'
import { usageError } from '../errors/errors.ts'
import type { Host, Io } from '../io/io.ts'
import { visible } from '../output/index.ts'
import type { Sourced } from './folders.ts'
import { proxyFor } from './proxy.ts'
import { parseSeconds, requireBaseUrl, type Settings } from './settings.ts'

export interface RequestFlags {
  /** Seconds, as text. */
  readonly timeout?: string
  /** Seconds, as text. */
  readonly maxWait?: string
  readonly quiet?: boolean
  readonly verbose?: boolean
  readonly debug?: boolean
}

const defaultMaxWaitSeconds = 60

interface ConnectionOptions {
  readonly settings: Settings
  readonly host: Pick<Host, 'env' | 'version'>
  readonly io: Io
  readonly flags: RequestFlags
  readonly version: string
  readonly readKey: () => Promise<Sourced | null>
  readonly interruption: () => AbortSignal
}

/** @throws CliError for an unusable flag, variable or file */
export async function resolveConnection(options: ConnectionOptions): Promise<Connection> {
  const { settings, host, io, flags, version } = options
  const { env } = host
  const baseUrl = requireBaseUrl(settings)
  const key = await options.readKey()
  const timeout = secondsOf('timeout', flags.timeout, env, 0.001)
  const { caFile } = settings
  const connection = {
    baseUrl,
    key,
    userAgent: `consentctl/${version} node/${host.version}`,
    proxy: proxyFor(baseUrl, env),
    ca: caFile && (await (await import('./authorities.ts')).readAuthorities(caFile, env['NODE_EXTRA_CA_CERTS'])),
    timeout: timeout && timeout * 1000,
    maxWait: secondsOf('max-wait', flags.maxWait, env, 0) ?? defaultMaxWaitSeconds,
    pause,
    interruption: options.interruption(), // late: while the key is read, a signal ends the process
    trace: io.err.isTerminal && !flags.quiet ? waitMessages(io) : null,
  }
  if (!flags.verbose && !flags.debug) return connection
  const { openTrace } = await import('../logging/trace.ts')
  return { ...connection, trace: openTrace(connection, settings, io, flags.debug === true) }
}

function secondsOf(flag: string, value: string | undefined, env: Host['env'], least: number): number | null {
  const variable = `CONSENTCTL_${flag.toUpperCase().replace('-', '_')}`
  if (value === '') throw usageError(`--${flag} must not be empty`)
  if (value !== undefined) return parseSeconds(value, `--${flag}`, least)
  return env[variable] ? parseSeconds(env[variable], variable, least) : null
}

async function pause(seconds: number, signal: AbortSignal): Promise<void> {
  const { setTimeout } = await import('node:timers/promises')
  await setTimeout(seconds * 1000, undefined, { signal })
}

/** For waits of a second or more. */
function waitMessages(io: Io): Trace {
  return {
    follow: (_call, _request, send) => send(),
    waits: (error, seconds) =>
      seconds >= 1 &&
      void io.err.write(`${visible(error.message)}; retrying in ${Math.ceil(seconds)} s\n`).catch(() => {}),
  }
}
