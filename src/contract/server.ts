import type { Role } from './session.ts'

/** `lost`: missing; `shortened`: missing at the end; `forged`: never written by the service. */
export type Problem = 'changed' | 'reordered' | 'lost' | 'shortened' | 'forged'

export interface DatabaseFinding {
  /** Null if it is about all accounts. */
  readonly account_id: string | null
  /** Null if it is about the account's log. */
  readonly consent_id: string | null
  /** Null if it is about more than one audit entry. */
  readonly version: number | null
  readonly problem: Problem
  readonly detail: string
}

export const signingKeyReasons = ['superseded', 'compromised'] as const

export interface KeyRevocationOrder {
  readonly keyId: string
  readonly reason: (typeof signingKeyReasons)[number]
}

/** A key that the service publishes. */
export interface SigningKeyRow {
  readonly key_id: string
  /** `adopted`: valid, and from before the chain. */
  readonly state: 'valid' | 'adopted' | (typeof signingKeyReasons)[number]
  readonly not_before: string
  readonly revoked_at: string | null
}

export interface Inspection {
  readonly account?: string | undefined
  readonly kept: readonly string[]
  /** PEM file of the authority of the timestamps, to verify these too. */
  readonly tsaCa?: string | undefined
  /** Stops the work, which then throws its reason. */
  readonly signal: AbortSignal
}

export interface Inspected {
  accounts: number
  records: number
  entries: number
  checkpoints: number
  timestamps: number
}

/** Works while its findings are read, page by page. */
export interface Verification {
  readonly findings: AsyncIterable<readonly DatabaseFinding[]>
  readonly inspected: Readonly<Inspected>
}

/** Each account's latest signed checkpoint, and what contradicts those stored elsewhere. */
export interface TakenCheckpoints {
  readonly checkpoints: readonly string[]
  readonly findings: readonly DatabaseFinding[]
}

export interface Transferred {
  rows: number
  records: number
}

export interface ExportOrder {
  readonly write: (text: string) => Promise<void>
  readonly signal: AbortSignal
}

export interface ImportOrder {
  readonly source: AsyncIterable<Uint8Array>
  readonly name: string
  readonly signal: AbortSignal
}

/** A PostgreSQL server by its URL, else the embedded database in a folder. */
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
  /** A calendar month (UTC); overrides the plan's. */
  readonly monthlyQuota?: number | undefined
  /** Default: a generated one. */
  readonly password?: string | undefined
}

/** The database stores only hashes of the secrets. */
export interface NewAccount {
  readonly account_id: string
  readonly user: { readonly id: string; readonly email: string; readonly password: string | null }
  readonly site: { readonly id: string; readonly name: string; readonly token: string }
  readonly api_key: string
}

export interface AccountRow {
  readonly account_id: string
  /** Of its users, separated by blanks. */
  readonly email: string
  readonly plan: string
  /** Null is unlimited. */
  readonly monthly_quota: number | null
  /** In this month (UTC); held units count. */
  readonly used: number
  readonly remaining: number | null
  readonly created_at: string
}

export interface QuotaOrder {
  /** Its id, or the e-mail of a user. */
  readonly account: string
  /** Null is unlimited. */
  readonly monthlyQuota: number | null
}

export interface UserDraft {
  /** Its id, or the e-mail of a user; default: the only account. */
  readonly account?: string | undefined
  readonly email: string
  readonly role: Role
  /** Default: a generated one. */
  readonly password?: string | undefined
}

export interface UserInfo {
  readonly account_id: string
  readonly id: string
  readonly email: string
  readonly role: Role
  readonly created_at: string
}

/** The password is null if the operator gave it. */
export interface NewUser extends UserInfo {
  readonly password: string | null
}

/** The password is null if the operator gave it. */
export interface NewPassword {
  readonly email: string
  readonly password: string | null
}

export interface AccountPurge {
  readonly account_id: string
  /** Live records beyond their site's retention period. */
  readonly expired: number
  readonly purged: number
}

export interface PurgeOrder {
  /** Default: the server's setting. */
  readonly olderThan?: number | undefined
  /** Called with the numbers first. Nothing is done if it resolves to false. */
  readonly approve: (found: readonly AccountPurge[], records: number) => Promise<boolean>
  /** Called for each record that is left because its history does not verify. */
  readonly onUnverified: (finding: DatabaseFinding) => Promise<void>
  /** Called with what could not be done and does not end the purge. */
  readonly onProblem: (problem: string) => Promise<void>
  /** Stops it after the current batch. */
  readonly signal: AbortSignal
}

export interface RunningServer {
  readonly url: string
  readonly isEmpty: boolean
  createAccount(draft: AccountDraft): Promise<NewAccount>
  /** Finishes the requests in flight within ten seconds. */
  close(): Promise<void>
  abortRequests(): void
}

export interface ServerHost {
  readonly env: Readonly<Record<string, string | undefined>>
  /** Null when the wait is over. */
  readonly onWait?: (what: string | null) => void
  /** Called with the embedded database if none was given. */
  readonly onDefault?: (what: string) => void
  /** Called with it before `serve` opens it. */
  readonly onEmbedded?: (what: string) => void
}

/** The executable loads it; the client never imports it. */
export interface ServerModule {
  serve(options: ServeOptions, host: ServerHost): Promise<RunningServer>
  createAccount(options: DatabaseOptions, draft: AccountDraft, host: ServerHost): Promise<NewAccount>
  /** Oldest first. */
  listAccounts(options: DatabaseOptions, host: ServerHost): Promise<readonly AccountRow[]>
  setQuota(options: DatabaseOptions, order: QuotaOrder, host: ServerHost): Promise<AccountRow>
  addUser(options: DatabaseOptions, draft: UserDraft, host: ServerHost): Promise<NewUser>
  /** Of one account, by its id or the e-mail of a user, or of all. */
  listUsers(options: DatabaseOptions, account: string | undefined, host: ServerHost): Promise<readonly UserInfo[]>
  /** Also ends the user's sessions. The last owner of an account stays. */
  removeUser(options: DatabaseOptions, email: string, host: ServerHost): Promise<UserInfo>
  /** Also ends the user's sessions. */
  resetPassword(
    options: DatabaseOptions,
    user: { readonly email: string; readonly password?: string | undefined },
    host: ServerHost,
  ): Promise<NewPassword>
  /** Deletes expired records, and personal data of deleted ones. Yields each account's numbers. */
  purge(options: DatabaseOptions, order: PurgeOrder, host: ServerHost): AsyncGenerator<AccountPurge>
  /** Works beside a running server and without one. */
  verifyDatabase(options: DatabaseOptions, inspection: Inspection, host: ServerHost): Verification
  /** Signs new ones, and compares the log with those stored elsewhere. */
  takeCheckpoints(options: DatabaseOptions, inspection: Inspection, host: ServerHost): Promise<TakenCheckpoints>
  revokeSigningKey(options: DatabaseOptions, order: KeyRevocationOrder, host: ServerHost): Promise<SigningKeyRow[]>
  /** Adopts the keys of the database as they are. */
  restartSigningKeys(options: DatabaseOptions, host: ServerHost): Promise<SigningKeyRow[]>
  /** Includes the secrets. */
  exportDatabase(options: DatabaseOptions, order: ExportOrder, host: ServerHost): Promise<Transferred>
  /** The database must be empty, and stays empty on failure. */
  importDatabase(options: DatabaseOptions, order: ImportOrder, host: ServerHost): Promise<Transferred>
}

export type OperatorErrorCode = 'settings' | 'unavailable' | 'invalid' | 'conflict' | 'not_found'

/** A problem that the operator can fix, such as a port in use. */
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

/** By name, because the server's bundle has its own copy of the class. */
export function isOperatorError(error: unknown): error is OperatorError {
  return error instanceof Error && error.name === 'OperatorError'
}
