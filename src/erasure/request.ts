import type { Context } from '../context.ts'
import { openSigner, type Signer } from '../receipts/signer.ts'

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

/** An erasure to be carried out. Made once, before any record is read; everything after reads it and not the settings. */
export interface ErasureRequest extends SubjectRequest, Signer {
  /** True if the receipt names the subjects in clear. */
  readonly shows_subject: boolean
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
