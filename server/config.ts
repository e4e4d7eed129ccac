import type { KeyObject } from 'node:crypto'
import { homedir } from 'node:os'
import { join, resolve } from 'node:path'
import type * as z from 'zod'
import { OperatorError, type ServeOptions } from '../src/contract/index.ts'
import { Environment } from './environment.ts'

export interface Config {
  readonly host: string
  readonly port: number
  readonly databaseUrl: string | null
  /** Standbys of that database, for lists; null for none. */
  readonly readDatabaseUrl: string | null
  readonly dataDir: string
  readonly logLevel: string
  /** How much of a data subject's address is kept: its network (/24, /48), all of it, or nothing. */
  readonly ipStorage: 'truncated' | 'raw' | 'drop'
  /** The absolute path of the operator's own database of countries (MMDB), else null for the one that is included. */
  readonly geoipDb: string | null
  /** The addresses and networks (CIDR) whose word on a client's address and place is believed. */
  readonly trustProxy: readonly string[]
  /** The headers, in lower case, in which a trusted proxy names a client's country and region. */
  readonly edgeCountryHeader: string | null
  readonly edgeRegionHeader: string | null
  /** What sessions are signed with, of at least 32 bytes; null where the operator gives none. */
  readonly sessionSecret: string | null
  /** What documents are signed with (Ed25519); null where the database keeps the key. */
  readonly signingKey: KeyObject | null
  /** Days from a deletion until its personal data goes; null for never. */
  readonly purgeAfterDays: number | null
  /** How often what is new in the histories is covered by a signed checkpoint. */
  readonly checkpointMinutes: number
  /** Where metrics are served; null for nowhere. */
  readonly metricsPort: number | null
  /** Requests of the public flow that are answered in a minute at most: from one address, and for one site. */
  readonly publicRatePerAddress: number
  readonly publicRatePerSite: number
}

type Env = Readonly<Record<string, string | undefined>>

/** The server's settings: flags before the environment before defaults. An empty variable counts as unset. */
export function readConfig(options: ServeOptions, env: Env): Config {
  const given = {
    ...env,
    HOST: options.host ?? env['HOST'],
    PORT: options.port ?? env['PORT'],
    DATABASE_URL: options.databaseUrl ?? (options.dataDir === undefined ? env['DATABASE_URL'] : undefined),
    CONSENTCTL_DATA_DIR: options.dataDir ?? env['CONSENTCTL_DATA_DIR'],
  }
  const set = Object.entries(given).filter(([, value]) => value !== undefined && value !== '')
  const parsed = Environment.safeParse(Object.fromEntries(set))
  if (!parsed.success) throw new OperatorError(parsed.error.issues.map(describe).join('; '))
  const settings = parsed.data
  return {
    host: settings.HOST,
    port: settings.PORT,
    databaseUrl: settings.DATABASE_URL,
    readDatabaseUrl: settings.DATABASE_URL === null ? null : settings.READ_DATABASE_URL,
    dataDir: resolve(settings.CONSENTCTL_DATA_DIR ?? defaultDataDir(env)),
    logLevel: settings.LOG_LEVEL,
    ipStorage: settings.IP_STORAGE,
    geoipDb: settings.GEOIP_DB === undefined ? null : resolve(settings.GEOIP_DB),
    trustProxy: settings.TRUST_PROXY,
    edgeCountryHeader: settings.EDGE_COUNTRY_HEADER,
    edgeRegionHeader: settings.EDGE_REGION_HEADER,
    sessionSecret: settings.SESSION_SECRET,
    signingKey: settings.SIGNING_KEY_FILE,
    purgeAfterDays: settings.PURGE_AFTER_DAYS,
    checkpointMinutes: settings.CHECKPOINT_MINUTES,
    metricsPort: settings.METRICS_PORT,
    publicRatePerAddress: settings.PUBLIC_RATE_PER_ADDRESS,
    publicRatePerSite: settings.PUBLIC_RATE_PER_SITE,
  }
}

function describe(issue: z.core.$ZodIssue): string {
  return `${String(issue.path[0])}: ${issue.message}`
}

/** The user's folder for data by the platform's custom (XDG Base Directory Specification). */
function defaultDataDir(env: Env): string {
  if (process.platform === 'win32') return join(env['LOCALAPPDATA'] ?? homedir(), 'consentctl')
  return join(env['XDG_DATA_HOME'] || join(env['HOME'] || homedir(), '.local', 'share'), 'consentctl')
}
