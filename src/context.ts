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

/** The flags that every command understands, before it or after it. */
export interface Globals extends GlobalFlags, RequestFlags {
  readonly output?: FormatName
  /** Names of fields, or true where all are meant. */
  readonly json?: string | true
  readonly header?: boolean
  readonly columns?: string
  readonly truncate?: boolean
  readonly csvGuard?: boolean
  readonly out?: string
  readonly pager?: boolean
  readonly color?: ColorChoice
}

/** What a command may use. Nothing of it is read, opened or loaded before it is used. */
export interface Context {
  readonly host: Host
  readonly io: Io
  readonly globals: Globals
  readonly settings: Settings
  /** The instance and key of the settings. */
  readonly api: Client
  /** The same instance with another key, which is not stored; with none, for somebody who signs in. */
  apiWith(key: Sourced | null): Client
  /** Aborted by the first SIGINT, SIGTERM or SIGHUP; the next one ends the process. From when it is first asked for. */
  readonly interruption: AbortSignal
  /** A line of talk on stderr for people, which --quiet leaves out. */
  say(line: string): Promise<void>
  /** A line on stderr that must not be missed. */
  warn(line: string): Promise<void>
  /** The same surroundings with a stored profile's own instance and key, whatever the environment says of another. */
  withProfile(name: string): Context
  /** The server side, loaded when it is asked for. */
  readonly loadServer: () => Promise<ServerModule>
  /** Describes every command; injected, because commands cannot import the program that lists them. */
  readonly describeCommands: () => Promise<CommandInfo>
  /** What the process ends with when nothing is thrown. */
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

/** What the environment says of an instance and its key. */
const ofInstance = ['CONSENTCTL_BASE_URL', 'CONSENTCTL_API_KEY', 'CONSENTCTL_API_KEY_FILE']

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
      const env = Object.fromEntries(Object.entries(host.env).filter(([name]) => !ofInstance.includes(name)))
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
