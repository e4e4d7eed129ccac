import type { Role } from './session.ts'

/** `lost`: missing; `shortened`: missing at the end; `forged`: never written by the service. */
export type Problem = 'changed' | 'reordered' | 'lost' | 'shortened' | 'forged'

export interface DatabaseFinding {
  /** Null for all accounts. */
  readonly account_id: string | null
  /** Null for the account's log. */
  readonly consent_id: string | null
  /** Null for several audit entries. */
  readonly version: number | null
  readonly problem: Problem
  readonly detail: string
}

export const signingKeyReasons = ['superseded', 'compromised'] as const

export interface KeyRevocationOrder {
  readonly keyId: string
  readonly reason: (typeof signingKeyReasons)[number]
}

export interface SigningKeyRow {
  readonly key_id: string
  readonly state: 'valid' | (typeof signingKeyReasons)[number]
  readonly not_before: string
  readonly revoked_at: string | null
}

export interface Inspection {
  readonly account?: string | undefined
  readonly kept: readonly string[]
  /** PEM file of the timestamps' authority, to verify them too. */
  readonly tsaCa?: string | undefined
  readonly signal: AbortSignal
}

export interface Inspected {
  accounts: number
  records: number
  /** Of the histories of records. With those of the administrators' logs they are the leaves of the logs. */
  entries: number
  administration: number
  checkpoints: number
  timestamps: number
}

/** Verifies while its findings are read. */
export interface Verification {
  readonly findings: AsyncIterable<readonly DatabaseFinding[]>
  readonly inspected: Readonly<Inspected>
}

/** Each account's latest signed checkpoint, and contradictions to checkpoints stored elsewhere. */
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

/** A PostgreSQL URL, or the folder of the embedded database. */
export interface DatabaseOptions {
  readonly databaseUrl?: string | undefined
  readonly dataDir?: string | undefined
}

export interface ServeOptions extends DatabaseOptions {
  readonly host?: string | undefined
  /** 0 picks a free port. */
  readonly port?: number | undefined
}

export const plans = ['unlimited', 'free', 'pro'] as const

/** Monthly quota of an account that was given no other; null is unlimited. */
export const planQuotas: Readonly<Record<(typeof plans)[number], number | null>> = {
  unlimited: null,
  free: 10_000,
  pro: 1_000_000,
}

export interface AccountDraft {
  readonly email: string
  readonly site?: string | undefined
  readonly plan?: (typeof plans)[number] | undefined
  /** Units in a calendar month (UTC); overrides the plan's. */
  readonly monthlyQuota?: number | undefined
  /** Default: a generated one. */
  readonly password?: string | undefined
}

/** The secrets in clear; the database stores only their hashes. */
export interface NewAccount {
  readonly account_id: string
  readonly user: { readonly id: string; readonly email: string; readonly password: string | null }
  readonly site: { readonly id: string; readonly name: string; readonly token: string }
  readonly api_key: string
}

export interface AccountRow {
  readonly account_id: string
  /** E-mail addresses of its users, separated by blanks. */
  readonly email: string
  readonly plan: string
  /** Null is unlimited. */
  readonly monthly_quota: number | null
  /** Units used this month (UTC), including held ones. */
  readonly used: number
  readonly remaining: number | null
  readonly created_at: string
}

export interface QuotaOrder {
  /** Account id, or e-mail of a user. */
  readonly account: string
  /** Null is unlimited. */
  readonly monthlyQuota: number | null
}

export interface UserDraft {
  /** Account id, or e-mail of a user; default: the only account. */
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
  /** Valid API keys that the user made. */
  readonly keys: number
  readonly created_at: string
}

interface KeyName {
  readonly id: string
  readonly name: string
}

export interface RemovedUser extends UserInfo {
  readonly ended_keys: readonly KeyName[]
  readonly kept_keys: readonly KeyName[]
}

/** The password is null if the operator supplied it. */
export interface NewUser extends UserInfo {
  readonly password: string | null
}

/** The password is null if the operator supplied it. */
export interface NewPassword {
  readonly email: string
  readonly password: string | null
}

export interface AccountPurge {
  readonly account_id: string
  /** Live records past their site's retention period. */
  readonly expired: number
  readonly purged: number
}

export interface PurgeOrder {
  /** Days since deletion; default: the server's setting. */
  readonly olderThan?: number | undefined
  /** Called with the numbers first; false cancels the purge. */
  readonly approve: (found: readonly AccountPurge[], records: number) => Promise<boolean>
  /** Called for each record kept because its history does not verify. */
  readonly onUnverified: (finding: DatabaseFinding) => Promise<void>
  /** Called for a failure that does not stop the purge. */
  readonly onProblem: (problem: string) => Promise<void>
  /** Stops the purge after the current batch. */
  readonly signal: AbortSignal
}

export interface RunningServer {
  readonly url: string
  readonly isEmpty: boolean
  createAccount(draft: AccountDraft): Promise<NewAccount>
  /** Finishes the requests in flight within ten seconds. */
  close(): Promise<void>
  abortRequests(): void
  /** Writes the log from its first line on, if `holdsLog`. */
  showLog(): void
}

export interface ServerHost {
  readonly env: Readonly<Record<string, string | undefined>>
  /** Called with the reason for a wait, and with null at its end. */
  readonly onWait?: (what: string | null) => void
  /** Called with the embedded database if no database was given. */
  readonly onDefault?: (what: string) => void
  /** Called with the embedded database before `serve` opens it. */
  readonly onEmbedded?: (what: string) => void
  /** True to write no line of the log before `showLog`. */
  readonly holdsLog?: boolean
  /** Ends the migration of `serve`, which then rejects with its reason. */
  readonly signal?: AbortSignal
}

/** The executable loads it; the client never imports it. */
export interface ServerModule {
  serve(options: ServeOptions, host: ServerHost): Promise<RunningServer>
  createAccount(options: DatabaseOptions, draft: AccountDraft, host: ServerHost): Promise<NewAccount>
  /** Returns the oldest first. */
  listAccounts(options: DatabaseOptions, host: ServerHost): Promise<readonly AccountRow[]>
  setQuota(options: DatabaseOptions, order: QuotaOrder, host: ServerHost): Promise<AccountRow>
  addUser(options: DatabaseOptions, draft: UserDraft, host: ServerHost): Promise<NewUser>
  /** `account`: id, or e-mail of a user; undefined for all. */
  listUsers(options: DatabaseOptions, account: string | undefined, host: ServerHost): Promise<readonly UserInfo[]>
  /** Also ends the user's sessions and, unless they are kept, keys. Rejects for an account's last owner. */
  removeUser(
    options: DatabaseOptions,
    user: { readonly email: string; readonly keepKeys?: boolean | undefined },
    host: ServerHost,
  ): Promise<RemovedUser>
  /** Also ends the user's sessions. */
  resetPassword(
    options: DatabaseOptions,
    user: { readonly email: string; readonly password?: string | undefined },
    host: ServerHost,
  ): Promise<NewPassword>
  /** Deletes expired records, and personal data of deleted ones. Yields each account's numbers. */
  purge(options: DatabaseOptions, order: PurgeOrder, host: ServerHost): AsyncGenerator<AccountPurge>
  /** Works with or without a running server. */
  verifyDatabase(options: DatabaseOptions, inspection: Inspection, host: ServerHost): Verification
  /** Signs new checkpoints, and compares the log with those stored elsewhere. */
  takeCheckpoints(options: DatabaseOptions, inspection: Inspection, host: ServerHost): Promise<TakenCheckpoints>
  revokeSigningKey(options: DatabaseOptions, order: KeyRevocationOrder, host: ServerHost): Promise<SigningKeyRow[]>
  /** Lets a new key follow the newest one, which was lost. */
  restartSigningKeys(options: DatabaseOptions, host: ServerHost): Promise<SigningKeyRow[]>
  /** Includes the secrets. */
  exportDatabase(options: DatabaseOptions, order: ExportOrder, host: ServerHost): Promise<Transferred>
  /** The database must be empty, and stays empty on failure. */
  importDatabase(options: DatabaseOptions, order: ImportOrder, host: ServerHost): Promise<Transferred>
}

export type OperatorErrorCode = 'settings' | 'unavailable' | 'invalid' | 'conflict' | 'not_found'

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

/** Compares the name, because the server's bundle has its own copy of the class. */
export function isOperatorError(error: unknown): error is OperatorError {
  return error instanceof Error && error.name === 'OperatorError'
}
