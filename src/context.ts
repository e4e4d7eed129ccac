import { type Client, createClient } from './client/client.ts'
import type { ServerModule } from './contract/server.ts'
import type { CommandInfo } from './docs/describe.ts'
import { type Exit, exit } from './errors/errors.ts'
import { type ColorChoice, type Host, type Io, listenForInterruption } from './io/io.ts'
import { type FormatName, visible } from './output/index.ts'
import { type RequestFlags, resolveConnection } from './settings/connection.ts'
import {
  type GlobalFlags,
  requireApiKey,
  resolveSettings,
  type Settings,
  type Sourced,
} from './settings/settings.ts'

/** Flags of every command, accepted before and after its name. */
export interface Globals extends GlobalFlags, RequestFlags {
  readonly output?: FormatName
  /** Names of fields, or true for all. */
  readonly json?: string | true
  readonly header?: boolean
  readonly columns?: string
  readonly truncate?: boolean
  readonly csvGuard?: boolean
  readonly out?: string
  readonly pager?: boolean
  readonly color?: ColorChoice
}

/** Everything a command may use. Nothing is read, opened or loaded before its first use. */
export interface Context {
  readonly host: Host
  readonly io: Io
  readonly globals: Globals
  readonly settings: Settings
  /** The client for the instance and key of the settings. */
  readonly api: Client
  /** A client with another key, or with none for signing in. */
  apiWith(key: Sourced | null): Client
  /** Aborted by the first SIGINT, SIGTERM or SIGHUP after the first access; the next signal ends the process. */
  readonly interruption: AbortSignal
  /** Writes a message to stderr, unless --quiet is set. */
  say(line: string): Promise<void>
  /** Writes a message to stderr, even with --quiet. */
  warn(line: string): Promise<void>
  /** A context with the instance and key of a stored profile, ignoring those of the environment. */
  withProfile(name: string): Context
  /** Loads the server. */
  readonly loadServer: () => Promise<ServerModule>
  /** Describes every command; injected, because commands cannot import the program that lists them. */
  readonly describeCommands: () => Promise<CommandInfo>
  /** The exit code if nothing is thrown. */
  exit: Exit
  /** Closes the connections to the instance. */
  close(): Promise<void>
}

export interface ContextOptions {
  readonly host: Host
  readonly io: Io
  readonly globals: () => Globals
  readonly loadServer: () => Promise<ServerModule>
  readonly describeCommands: () => Promise<CommandInfo>
  readonly version: string
}

/** Variables that name an instance and its key. */
const instanceVariables = ['CONSENTCTL_BASE_URL', 'CONSENTCTL_API_KEY', 'CONSENTCTL_API_KEY_FILE']

export function createContext(options: ContextOptions): Context {
  const { host, io, globals, loadServer, describeCommands, version } = options
  let settings: Settings | undefined
  const warn = (line: string) => io.err.write(`${visible(line)}\n`)
  const clients: Pick<Client, 'close'>[] = []
  let interruption: AbortSignal | undefined
  const open = (readKey: () => Promise<Sourced | null>) => {
    const client = createClient(() =>
      resolveConnection({
        settings: ctx.settings,
        host,
        io,
        flags: globals(),
        version,
        readKey,
        interruption: () => ctx.interruption,
      }),
    )
    clients.push(client)
    return client
  }
  const ctx: Context = {
    host,
    io,
    loadServer,
    describeCommands,
    warn,
    say: async line => {
      if (!globals().quiet) await warn(line)
    },
    exit: exit.done,
    get interruption() {
      interruption ??= listenForInterruption(host)
      return interruption
    },
    get globals() {
      return globals()
    },
    get settings() {
      const { env, platform } = host
      settings ??= resolveSettings(globals(), {
        env,
        platform,
        warn: message => void warn(`warning: ${message}`),
      })
      return settings
    },
    api: open(async () => await requireApiKey(ctx.settings).read()),
    apiWith: key => open(async () => key),
    withProfile: profile => {
      const env = Object.fromEntries(
        Object.entries(host.env).filter(([name]) => !instanceVariables.includes(name)),
      )
      const other = createContext({
        ...options,
        host: Object.create(host, { env: { value: env } }),
        globals: () => ({ ...globals(), profile, baseUrl: undefined }),
      })
      Object.defineProperty(other, 'interruption', { get: () => ctx.interruption })
      clients.push(other)
      return other
    },
    close: async () => {
      await Promise.all(clients.map(client => client.close()))
    },
  }
  return ctx
}
