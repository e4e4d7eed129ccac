import { homedir } from 'node:os'
import { join, resolve } from 'node:path'
import * as z from 'zod'
import { OperatorError, type ServeOptions } from '../src/contract/index.ts'

const Environment = z.object({
  HOST: z.string().default('127.0.0.1'),
  PORT: z.coerce.number('must be a number').pipe(z.int().min(0).max(65_535)).default(8787),
  DATABASE_URL: z
    .string()
    .regex(/^postgres(ql)?:\/\//, 'must begin with postgres:// or postgresql://')
    .nullable()
    .default(null),
  CONSENTCTL_DATA_DIR: z.string().min(1).optional(),
  LOG_LEVEL: z.enum(['debug', 'info', 'warn', 'error', 'silent']).default('info'),
  IP_STORAGE: z.enum(['truncated', 'raw', 'drop']).default('truncated'),
})

export interface Config {
  readonly host: string
  readonly port: number
  readonly databaseUrl: string | null
  readonly dataDir: string
  readonly logLevel: string
  /** How much of a data subject's address is kept: its network (/24, /48), all of it, or nothing. */
  readonly ipStorage: 'truncated' | 'raw' | 'drop'
}

type Env = Readonly<Record<string, string | undefined>>

/** The server's settings: flags before the environment before defaults. An empty variable counts as unset. */
export function readConfig(options: ServeOptions, env: Env): Config {
  const given = {
    HOST: options.host ?? env['HOST'],
    PORT: options.port ?? env['PORT'],
    DATABASE_URL: options.databaseUrl ?? (options.dataDir === undefined ? env['DATABASE_URL'] : undefined),
    CONSENTCTL_DATA_DIR: options.dataDir ?? env['CONSENTCTL_DATA_DIR'],
    LOG_LEVEL: env['LOG_LEVEL'],
    IP_STORAGE: env['IP_STORAGE'],
  }
  const set = Object.entries(given).filter(([, value]) => value !== undefined && value !== '')
  const parsed = Environment.safeParse(Object.fromEntries(set))
  if (!parsed.success) throw new OperatorError(parsed.error.issues.map(describe).join('; '))
  const settings = parsed.data
  return {
    host: settings.HOST,
    port: settings.PORT,
    databaseUrl: settings.DATABASE_URL,
    dataDir: resolve(settings.CONSENTCTL_DATA_DIR ?? defaultDataDir(env)),
    logLevel: settings.LOG_LEVEL,
    ipStorage: settings.IP_STORAGE,
  }
}

function describe(issue: z.core.$ZodIssue): string {
  return `${issue.path.join('.')}: ${issue.message}`
}

/** The user's folder for data by the platform's custom (XDG Base Directory Specification). */
function defaultDataDir(env: Env): string {
  if (process.platform === 'win32') return join(env['LOCALAPPDATA'] ?? homedir(), 'consentctl')
  return join(env['XDG_DATA_HOME'] || join(env['HOME'] || homedir(), '.local', 'share'), 'consentctl')
}
