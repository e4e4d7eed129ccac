import { ApiError } from '../../../../../src/client/errors.ts'
import type { ErasureReceipt } from '../../../../../src/contract/documents/erasure-receipt.ts'
import type { DataSubjectRequest } from '../../../../../src/contract/index.ts'
import { erasedRecordsLimit } from '../../../../../src/contract/subjects.ts'
import { deleteRest, markErased, verifyErased } from '../../../../../src/erasure/deletion.ts'
import type { AskForPurge, Target } from '../../../../../src/erasure/records.ts'
import {
  apply,
  type ErasureEvent,
  type ErasureOrder,
  type ErasureOutcome,
  type ErasureState,
  newState,
  toOutcome,
} from '../../../../../src/erasure/state.ts'
import { warnOfLoss } from '../../leaving.ts'
import { download } from '../../parts/download.tsx'
import { client } from '../../session.ts'
import { newStore } from '../../store.ts'

export interface Order extends ErasureOrder {
  readonly account_id: string
  /** In the register; null without one. */
  readonly request: DataSubjectRequest | null
}

/** A document signed by the service, unchanged. */
export interface SignedText {
  readonly name: string
  readonly text: string
  readonly isDownloaded: boolean
}

export interface Outcome
  extends ErasureOutcome,
    Pick<ErasureReceipt, 'verification' | 'near_matches' | 'account_id' | 'finished_at'> {}

export interface Purging {
  readonly isRunning: boolean
  readonly certified: number
  /** Proofs that the purge left. */
  readonly sealed: readonly { readonly basis: string; readonly until: string }[]
  readonly error: unknown
}

export interface Erasure {
  readonly phase: 'deleting' | 'verifying' | 'stopped' | 'done'
  readonly state: ErasureState<Order>
  readonly error: unknown
  readonly outcome: Outcome | null
  readonly certificates: readonly SignedText[]
  readonly purging: Purging | null
}

/** At most one erasure. It continues while the user looks at other screens, and exists only in this page's memory. */
const current = newStore<Erasure | null>(null)
export const useErasure = current.use

function set(next: Erasure | null): void {
  current.set(next)
  warnOfLoss(next && lossOf(next))
}

function change(changes: Partial<Erasure>): void {
  const erasure = current.get()
  if (erasure) set({ ...erasure, ...changes })
}

function lossOf({ phase, certificates, purging }: Erasure): string | null {
  const isLost = certificates.some(({ isDownloaded }) => !isDownloaded)
  const unsaved = isLost ? ' Certificates that are not downloaded are lost.' : ''
  if (phase !== 'done') return `the erasure is not finished.${unsaved}`
  if (purging?.isRunning) return `the purge is not finished.${unsaved}`
  return isLost ? 'certificates that are not downloaded are lost.' : null
}

export function startErasure(order: Order, targets: readonly Target[]): void {
  if (current.get()) return
  const state = newState(order)
  for (const target of targets) apply(state, ['t', target])
  set({ phase: 'stopped', state, error: undefined, outcome: null, certificates: [], purging: null })
  continueErasure()
}

/** Sends the ids without an outcome (again), then verifies. No record is deleted twice. */
export function continueErasure(): void {
  const erasure = current.get()
  if (erasure?.phase !== 'stopped') return
  change({ phase: 'deleting', error: undefined })
  carryOut(erasure.state).catch((error: unknown) => change({ phase: 'stopped', error }))
}

/** Continues an erasure that stopped because the session had ended. */
export function continueSignedIn(): void {
  const error = current.get()?.error
  if (error instanceof ApiError && error.status === 401) continueErasure()
}

export function closeErasure(): void {
  set(null)
}

async function carryOut(state: ErasureState<Order>): Promise<void> {
  const { subjects, account_id } = state.order
  const run = { api: client, state, record: async (event: ErasureEvent) => apply(state, event) }
  for await (const deletions of deleteRest(run, () => false)) {
    addCertificates(state.certificates, 'erasure')
    for (const { error } of deletions) if (error !== null) throw error
  }
  change({ phase: 'verifying' })
  await markErased(client, state, (certificate, isLost) => {
    if (isLost) state.lostAnswers += 1
    if (certificate !== null) addCertificates([certificate], 'erasure')
  })
  const verified = await verifyErased(client, subjects)
  const outcome = {
    ...toOutcome(state, verified.verification),
    ...{ ...verified, account_id, finished_at: new Date().toISOString() },
  }
  change({ phase: 'done', outcome })
}

/** Purges the records, or with `askForPurged` gets certificates for purged ones. Keeps each certificate as it arrives. */
export async function purge(ids: readonly string[], ask: AskForPurge): Promise<void> {
  if (current.get()?.purging?.isRunning) return
  const named = new Set<string>()
  const sealed = new Map<string, Purging['sealed'][number]>()
  const show = (isRunning: boolean, error?: unknown) =>
    change({ purging: { isRunning, certified: named.size, sealed: [...sealed.values()], error } })
  show(true)
  try {
    for (let start = 0; start < ids.length; start += erasedRecordsLimit) {
      const { certificate } = await ask(ids.slice(start, start + erasedRecordsLimit))
      if (certificate === null) continue
      addCertificates([certificate], 'purge')
      for (const { id, sealed: proof } of JSON.parse(certificate).records) {
        if (!ids.includes(id)) continue
        named.add(id)
        if (proof) sealed.set(id, proof)
      }
      show(true)
    }
    show(false)
  } catch (error) {
    show(false, error)
  }
}

function addCertificates(texts: readonly string[], kind: 'erasure' | 'purge'): void {
  const known = current.get()?.certificates ?? []
  const added = texts
    .filter(text => known.every(each => each.text !== text))
    .map((text, index) => {
      const id = /"certificate_id":\s*"([\da-f-]{36})"/.exec(text)?.[1] ?? known.length + index + 1
      return { name: `${kind}-certificate-${id}.json`, text, isDownloaded: false }
    })
  change({ certificates: [...known, ...added] })
}

/** Browsers drop downloads that follow each other without a pause. */
const pauseMs = 250

export async function downloadCertificates(list: readonly SignedText[]): Promise<void> {
  for (const [index, { name, text }] of list.entries()) {
    if (index > 0) await new Promise(resolve => setTimeout(resolve, pauseMs))
    download(text, name)
    const certificates = current.get()?.certificates ?? []
    change({ certificates: certificates.map(each => (each.name === name ? { ...each, isDownloaded: true } : each)) })
  }
}
