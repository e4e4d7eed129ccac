/**
 * Kinds of tampering with a record or the log: `changed` and `reordered` entries, `lost` ones (missing), `shortened` (missing at the
 * end), and `forged` ones (never written by the service).
 */
export type Problem = 'changed' | 'reordered' | 'lost' | 'shortened' | 'forged'

export interface DatabaseFinding {
  /** Null if it is about what all accounts share. */
  readonly account_id: string | null
  /** The record's id; null if it is about the account's log. */
  readonly consent_id: string | null
  /** Of the audit entry; null if it is about more than one. */
  readonly version: number | null
  readonly problem: Problem
  /** For people. */
  readonly detail: string
}

export interface Inspection {
  readonly account?: string | undefined
  /** Signed checkpoints that were stored elsewhere. */
  readonly kept: readonly string[]
  /** Stops the work, which then throws its reason. */
  readonly signal: AbortSignal
}

export interface Inspected {
  accounts: number
  records: number
  entries: number
  checkpoints: number
}

/** A verification, which works while its findings are read. They come in pages. */
export interface Verification {
  readonly findings: AsyncIterable<readonly DatabaseFinding[]>
  readonly inspected: Readonly<Inspected>
}

/** The latest signed checkpoint of each account with entries, and what contradicts those that were stored elsewhere. */
export interface TakenCheckpoints {
  readonly checkpoints: readonly string[]
  readonly findings: readonly DatabaseFinding[]
}

export interface Transferred {
  rows: number
  records: number
}

export interface ExportOrder {
  /** Called with each piece of the text, one after the other. */
  readonly write: (text: string) => Promise<void>
  readonly signal: AbortSignal
}

export interface ImportOrder {
  readonly source: AsyncIterable<Uint8Array>
  readonly name: string
  readonly signal: AbortSignal
}

/** The database: a PostgreSQL server by its URL, else the embedded one in a folder. */
export interface DatabaseOptions {
  readonly databaseUrl?: string | undefined
  readonly dataDir?: string | undefined
}

export interface ServeOptions extends DatabaseOptions {
  readonly host?: string | undefined
  /** 0 picks a free one. */
  readonly port?: number | undefined
}

export const plans = ['unlimited', 'free', 'pro'] as const

export interface AccountDraft {
  readonly email: string
  readonly site?: string | undefined
  readonly plan?: (typeof plans)[number] | undefined
  /** Requests a calendar month (UTC); overrides the plan's. */
  readonly monthlyQuota?: number | undefined
  /** If not given, one is generated and returned. */
  readonly password?: string | undefined
}

/** A new account with its owner, its site and its key. The database stores only hashes of the secrets. */
export interface NewAccount {
  readonly account_id: string
  readonly user: { readonly id: string; readonly email: string; readonly password: string | null }
  readonly site: { readonly id: string; readonly name: string; readonly token: string }
  readonly api_key: string
}

/** A user's new password, null if the operator gave it. */
export interface NewPassword {
  readonly email: string
  readonly password: string | null
}

export interface AccountPurge {
  readonly account_id: string
  /** Live records that are deleted because their site's retention period is over. */
  readonly expired: number
  readonly purged: number
}

export interface PurgeOrder {
  /** Days since the deletion. Default: the server's setting. */
  readonly olderThan?: number | undefined
  /** Called with the numbers before anything is done. Nothing is done if it resolves to false. */
  readonly approve: (found: readonly AccountPurge[], records: number) => Promise<boolean>
  /** Called with a finding of each record that is left because its history does not verify. */
  readonly onUnverified: (finding: DatabaseFinding) => Promise<void>
  /** Stops it after the current batch. */
  readonly signal: AbortSignal
}

export interface RunningServer {
  /** Such as `http://127.0.0.1:8787`. */
  readonly url: string
  readonly isEmpty: boolean
  createAccount(draft: AccountDraft): Promise<NewAccount>
  /** Finishes the requests in flight within ten seconds, then closes the database. */
  close(): Promise<void>
  /** Aborts the requests in flight while it closes. */
  abortRequests(): void
}

/** The environment of the server, and callbacks for its status messages. */
export interface ServerHost {
  readonly env: Readonly<Record<string, string | undefined>>
  /** Called with what the server waits for, and with null when the wait is over. */
  readonly onWait?: (what: string | null) => void
  /** Called with the embedded database that is used if none was given. */
  readonly onDefault?: (what: string) => void
}

/** The exports of the server's bundle. The executable loads it; the client never imports it. */
export interface ServerModule {
  serve(options: ServeOptions, host: ServerHost): Promise<RunningServer>
  createAccount(options: DatabaseOptions, draft: AccountDraft, host: ServerHost): Promise<NewAccount>
  /** Resets a user's password, to a generated one unless given, and ends the user's sessions. */
  resetPassword(
    options: DatabaseOptions,
    user: { readonly email: string; readonly password?: string | undefined },
    host: ServerHost,
  ): Promise<NewPassword>
  /** Deletes expired records and removes the personal data of deleted ones. Yields the numbers of each account. */
  purge(options: DatabaseOptions, order: PurgeOrder, host: ServerHost): AsyncGenerator<AccountPurge>
  /** Verifies every record, its history and the log, whether a server is running or not. */
  verifyDatabase(options: DatabaseOptions, inspection: Inspection, host: ServerHost): Verification
  /** Signs checkpoints over new entries, and compares the log with those that were stored elsewhere. */
  takeCheckpoints(
    options: DatabaseOptions,
    inspection: Inspection,
    host: ServerHost,
  ): Promise<TakenCheckpoints>
  /** Writes a whole database, including its secrets, as one text. */
  exportDatabase(options: DatabaseOptions, order: ExportOrder, host: ServerHost): Promise<Transferred>
  /** Fills an empty database from an export. It stays empty if that fails. */
  importDatabase(options: DatabaseOptions, order: ImportOrder, host: ServerHost): Promise<Transferred>
}

export type OperatorErrorCode = 'settings' | 'unavailable' | 'invalid' | 'conflict' | 'not_found'

/** A problem that the operator can fix, such as a port in use or a wrong URL. */
export class OperatorError extends Error {
  override readonly name = 'OperatorError'
  readonly code: OperatorErrorCode
  readonly hint: string | undefined

  constructor(message: string, options: { code?: OperatorErrorCode; hint?: string; cause?: unknown } = {}) {
    super(message, options.cause === undefined ? {} : { cause: options.cause })
    this.code = options.code ?? 'settings'
    this.hint = options.hint
  }
}

/** Checks the name, because the server's bundle has its own copy of the class. */
export function isOperatorError(error: unknown): error is OperatorError {
  return error instanceof Error && error.name === 'OperatorError'
}
