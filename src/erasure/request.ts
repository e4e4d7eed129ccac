import { hostname, userInfo } from 'node:os'
import type { Context } from '../context.ts'
import { requireBaseUrl } from '../settings/settings.ts'
import { type Identity, identify } from './account.ts'
import { openReceiptKey, type ReceiptKey } from './keys.ts'
import { locateReceipts, type ReceiptStore } from './store.ts'

/** The user and machine of an erasure, by the operating system. */
export interface Operator {
  readonly who: string
  readonly host: string
}

export interface SubjectRequest {
  /** The identifiers of one person, each once. */
  readonly subjects: readonly string[]
  readonly ticket: string
  readonly reason: string | null
  /** `2026-01-31`, as `due_at`. */
  readonly received_at: string | null
  /** By the register; null to compute it. */
  readonly due_at?: string | null | undefined
  /** The id of the request in the register of the service, which gets the receipt's digest. */
  readonly request_id?: string | null | undefined
}

/** The operator, profile and key that sign documents about an instance, and the account that they are about. */
export interface Signer extends Operator, Identity {
  readonly instance: string
  readonly profile: string
  readonly store: ReceiptStore
  readonly key: ReceiptKey
}

/** An erasure to be carried out. Made once, before any record is read; everything after reads it and not the settings. */
export interface ErasureRequest extends SubjectRequest, Signer {
  /** True if the receipt names the subjects in clear. */
  readonly shows_subject: boolean
}

/** Reads or creates the signing key, and asks for the account. @throws CliError if it can be neither */
export async function openSigner(ctx: Context): Promise<Signer> {
  const store = locateReceipts(ctx)
  const instance = requireBaseUrl(ctx.settings)
  const key = await openReceiptKey(store)
  return { ...findOperator(), instance, profile: store.profile, store, key, ...(await identify(ctx.api)) }
}

export async function openRequest(
  ctx: Context,
  request: SubjectRequest,
  { showSubject = false }: { readonly showSubject?: boolean | undefined },
): Promise<ErasureRequest> {
  const signer = await openSigner(ctx)
  const { subjects, ticket, reason, received_at, due_at, request_id } = request
  return { ...signer, subjects, ticket, reason, received_at, due_at, request_id, shows_subject: showSubject }
}

export function findOperator(): Operator {
  return { who: userName(), host: hostname() }
}

function userName(): string {
  try {
    return userInfo().username
  } catch {
    return 'unknown' // a container may have a user without a name
  }
}
