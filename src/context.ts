import type { Client } from './client/client.ts'
import { createClient } from './client/connect.ts'
import type { ServerModule } from './contract/server.ts'
import type { CommandInfo } from './docs/describe.ts'
import { type Exit, exit } from './errors/errors.ts'
import { wantsJson } from './errors/wants-json.ts'
import { type ColorChoice, type Host, type Io, listenForInterruption } from './io/io.ts'
import { type FormatName, safeJson, visible } from './output/index.ts'
import { type RequestFlags, resolveConnection } from './settings/connection.ts'
import type { Sourced } from './settings/folders.ts'
import { type GlobalFlags, requireApiKey, resolveSettings, type Settings } from './settings/settings.ts'

export interface Globals extends GlobalFlags, RequestFlags {
  readonly output?: FormatName
  /** Fields, or true for all. */
  readonly json?: string | true
  readonly header?: boolean
  readonly columns?: string
  readonly truncate?: boolean
  readonly csvGuard?: boolean
  readonly out?: string
  readonly force?: boolean
  readonly pager?: boolean
  readonly color?: ColorChoice
}

/** Everything is read, opened or loaded on first use. */
export interface Context {
  readonly host: Host
  readonly io: Io
  readonly globals: Globals
  readonly settings: Settings
  readonly api: Client
  /** Without a key, requests use a session. */
  apiWith(key: Sourced | null): Client
  /** Signals are handled from the first access. */
  readonly interruption: AbortSignal
  /** Prints to stderr, unless --quiet. */
  say(line: string): Promise<void>
  warn(line: string): Promise<void>
  /** Prints messages as JSON lines where errors are JSON, except on a terminal. */
  useJsonMessages(): void
  /** Ignores the environment's instance and key. */
  withProfile(name: string): Context
  readonly loadServer: () => Promise<ServerModule>
  /** Injected: commands cannot import the program. */
  readonly describeCommands: () => Promise<CommandInfo>
  readonly isConnected: boolean
  /** Called if nothing is thrown. */
  exit: Exit
  close(): Promise<void>
}

interface ContextOptions {
  readonly host: Host
  readonly io: Io
  readonly globals: () => Globals
  readonly loadServer: () => Promise<ServerModule>
  readonly describeCommands: () => Promise<CommandInfo>
  readonly version: string
}

const instanceVariables = ['CONSENTCTL_BASE_URL', 'CONSENTCTL_API_KEY', 'CONSENTCTL_API_KEY_FILE']

export function createContext(options: ContextOptions): Context {
  const { host, io, globals, loadServer, describeCommands, version } = options
  let settings: Settings | undefined
  let isMachineRead = false
  const tell = (kind: 'warning' | 'note', line: string) => {
    const isJson = isMachineRead && !io.err.isTerminal && wantsJson(globals(), host)
    return io.err.write(`${isJson ? safeJson({ [kind]: { message: line } }) : visible(line)}\n`)
  }
  const warn = (line: string) => tell('warning', line)
  const clients: Pick<Client, 'close'>[] = []
  let interruption: AbortSignal | undefined
  let isConnected = false
  const open = (readKey: () => Promise<Sourced | null>) => {
    const client = createClient(() => {
      isConnected = true
      return resolveConnection({
        settings: ctx.settings,
        host,
        io,
        flags: globals(),
        version,
        readKey,
        interruption: () => ctx.interruption,
      })
    })
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
      if (!globals().quiet) await tell('note', line)
    },
    useJsonMessages: () => {
      isMachineRead = true
    },
    exit: exit.done,
    get isConnected() {
      return isConnected
    },
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
      const env = Object.fromEntries(Object.entries(host.env).filter(([name]) => !instanceVariables.includes(name)))
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
