/**
 * What is wrong with a record or with the log: something is not as it was written; stands in another place; is missing; is
 * missing at the end; or is there and was never written.
 */
export type Problem = 'changed' | 'reordered' | 'lost' | 'shortened' | 'forged'

/** Something in a database that is not what the service wrote. */
export interface DatabaseFinding {
  /** Null where it is about what all accounts share. */
  readonly account_id: string | null
  /** The record's id; null where it is about the account's log, and no record can be named. */
  readonly consent_id: string | null
  /** Of the audit entry; null where it is about more than one. */
  readonly version: number | null
  readonly problem: Problem
  /** For people. */
  readonly detail: string
}

/** What of a database is looked at, and by what. */
export interface Inspection {
  /** One account alone. */
  readonly account?: string | undefined
  /** Signed checkpoints that were kept elsewhere. */
  readonly kept: readonly string[]
  /** Ends the work, with its reason. */
  readonly signal: AbortSignal
}

/** How much was looked at so far. */
export interface Inspected {
  accounts: number
  records: number
  entries: number
  checkpoints: number
}

/** The work is done while the findings are read; they come in pages, as they are found. */
export interface Verification {
  readonly findings: AsyncIterable<readonly DatabaseFinding[]>
  readonly inspected: Readonly<Inspected>
}

/** The signed checkpoints of now, the last one of each account that has entries, and what contradicts those that were kept. */
export interface TakenCheckpoints {
  readonly checkpoints: readonly string[]
  readonly findings: readonly DatabaseFinding[]
}

/** How much of a database was moved so far. */
export interface Transferred {
  /** Of all tables. */
  rows: number
  /** Consent records among them. */
  records: number
}

export interface ExportOrder {
  /** Takes the next piece of the text; the one after it is read when this resolves. */
  readonly write: (text: string) => Promise<void>
  /** Ends the work, with its reason. */
  readonly signal: AbortSignal
}

export interface ImportOrder {
  /** The bytes of an export. */
  readonly source: AsyncIterable<Uint8Array>
  /** What they are called in errors. */
  readonly name: string
  /** Ends the work, with its reason. */
  readonly signal: AbortSignal
}

/** Where the records are kept: a PostgreSQL server by its URL, else the embedded one in a folder. */
export interface DatabaseOptions {
  readonly databaseUrl?: string | undefined
  readonly dataDir?: string | undefined
}

export interface ServeOptions extends DatabaseOptions {
  readonly host?: string | undefined
  /** 0 lets the system choose a free one. */
  readonly port?: number | undefined
}

export const plans = ['unlimited', 'free', 'pro'] as const

export interface AccountDraft {
  readonly email: string
  readonly site?: string | undefined
  readonly plan?: (typeof plans)[number] | undefined
  /** Requests a calendar month (UTC); overrides the plan's. */
  readonly monthlyQuota?: number | undefined
  /** Without one a password is generated, and returned this once. */
  readonly password?: string | undefined
}

/** A new account with its owner, its site and its key. The secrets are nowhere else: the database keeps hashes. */
export interface NewAccount {
  readonly account_id: string
  readonly user: { readonly id: string; readonly email: string; readonly password: string | null }
  readonly site: { readonly id: string; readonly name: string; readonly token: string }
  readonly api_key: string
}

/** A user's new password; null where the operator has given it, and knows it. */
export interface NewPassword {
  readonly email: string
  readonly password: string | null
}

/** What a purge does, or would do, in one account. */
export interface AccountPurge {
  readonly account_id: string
  /** Live records that are deleted, for their sites keep none so old. */
  readonly expired: number
  /** Deleted records whose personal data goes. */
  readonly purged: number
}

export interface PurgeOrder {
  /** Days since the deletion; what the server itself goes by unless it is said. */
  readonly olderThan?: number | undefined
  /** Told what there is to do, and to how many records, before anything is done; nothing is where it says no. */
  readonly approve: (found: readonly AccountPurge[], records: number) => Promise<boolean>
  /** Called with a finding of each record that is left because its history does not verify. */
  readonly onUnverified: (finding: DatabaseFinding) => Promise<void>
  /** Ends it after the batch it is at. */
  readonly signal: AbortSignal
}

export interface RunningServer {
  /** Where it listens, such as `http://127.0.0.1:8787`. */
  readonly url: string
  /** Whether the database holds no account yet. */
  readonly isEmpty: boolean
  createAccount(draft: AccountDraft): Promise<NewAccount>
  /** Finishes the requests in flight, within ten seconds, then closes the database. */
  close(): Promise<void>
  /** Aborts the requests in flight while it closes. */
  abortRequests(): void
}

/** What the surroundings give to the server: the environment, and a line of talk while something takes long. */
export interface ServerHost {
  readonly env: Readonly<Record<string, string | undefined>>
  /** Called with what is being waited for, and with `null` when it is over. */
  readonly onWait?: (what: string | null) => void
  /** Told which embedded database is used where none was named, for there may be another one. */
  readonly onDefault?: (what: string) => void
}

/** The server as the executable sees it; the client never imports it. */
export interface ServerModule {
  serve(options: ServeOptions, host: ServerHost): Promise<RunningServer>
  createAccount(options: DatabaseOptions, draft: AccountDraft, host: ServerHost): Promise<NewAccount>
  /** Gives a user a new password, one that is made up unless it is given, and ends the user's sessions. */
  resetPassword(
    options: DatabaseOptions,
    user: { readonly email: string; readonly password?: string | undefined },
    host: ServerHost,
  ): Promise<NewPassword>
  /** Deletes what is too old, and takes the personal data of deleted records for good, in the accounts it yields one by one. */
  purge(options: DatabaseOptions, order: PurgeOrder, host: ServerHost): AsyncGenerator<AccountPurge>
  /** Verifies every record, its history and the log, beside a running server or without one. */
  verifyDatabase(options: DatabaseOptions, inspection: Inspection, host: ServerHost): Verification
  /** Covers what is new with signed checkpoints, and compares the log with those that were kept. */
  takeCheckpoints(
    options: DatabaseOptions,
    inspection: Inspection,
    host: ServerHost,
  ): Promise<TakenCheckpoints>
  /** Writes a whole database, secrets and all, as one text. */
  exportDatabase(options: DatabaseOptions, order: ExportOrder, host: ServerHost): Promise<Transferred>
  /** Fills an empty database with what another one was, or leaves it empty. */
  importDatabase(options: DatabaseOptions, order: ImportOrder, host: ServerHost): Promise<Transferred>
}

/**
 * What stands in the way: a setting; a database that does not answer; data that is refused; something that is there
 * already, or that is not there.
 */
export type Obstacle = 'settings' | 'unavailable' | 'invalid' | 'conflict' | 'not_found'

/** The server could not do what it was told for a reason that its operator can mend: a taken port, a wrong URL. */
export class OperatorError extends Error {
  override readonly name = 'OperatorError'
  readonly obstacle: Obstacle
  readonly hint: string | undefined

  constructor(message: string, options: { obstacle?: Obstacle; hint?: string; cause?: unknown } = {}) {
    super(message, options.cause === undefined ? {} : { cause: options.cause })
    this.obstacle = options.obstacle ?? 'settings'
    this.hint = options.hint
  }
}

/** Told by name, for the server is built apart from the client and has its own copy of the class. */
export function isOperatorError(error: unknown): error is OperatorError {
  return error instanceof Error && error.name === 'OperatorError'
}
