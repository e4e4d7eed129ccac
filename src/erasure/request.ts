import type { Context } from '../context.ts'
import { type Identity, openSigner, type Signer } from '../receipts/signer.ts'

export interface SubjectRequest {
  /** One person's identifiers, without duplicates. */
  readonly subjects: readonly string[]
  readonly ticket: string
  readonly reason: string | null
  /** Dates such as `2026-01-31`. */
  readonly received_at: string | null
  /** Date from the register of requests; null to compute it. */
  readonly due_at?: string | null | undefined
  /** Id in the register of requests, which gets the receipt's digest. */
  readonly request_id?: string | null | undefined
}

/** Made once before any record is read; later code reads it instead of the settings. */
export interface ErasureRequest extends SubjectRequest, Signer {
  readonly shows_subject: boolean
}

export async function openRequest(
  ctx: Context,
  request: SubjectRequest,
  { showSubject = false }: { readonly showSubject?: boolean | undefined },
  identity: Identity,
): Promise<ErasureRequest> {
  const signer = await openSigner(ctx, undefined, identity)
  const { subjects, ticket, reason, received_at, due_at, request_id } = request
  return { ...signer, subjects, ticket, reason, received_at, due_at, request_id, shows_subject: showSubject }
}
