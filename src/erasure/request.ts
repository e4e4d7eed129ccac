import type { Context } from '../context.ts'
import { type Identity, openSigner, type Signer } from '../receipts/signer.ts'

export interface SubjectRequest {
  /** Without duplicates. */
  readonly subjects: readonly string[]
  readonly ticket: string
  readonly reason: string | null
  /** Such as `2026-01-31`. */
  readonly received_at: string | null
  /** From the register; null to compute it. */
  readonly due_at?: string | null | undefined
  /** In the register, which gets the receipt's digest. */
  readonly request_id?: string | null | undefined
}

/** Made once, before records are read; later code does not read the settings. */
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
