import type { Sql } from 'postgres'
import type { InclusionQuery } from '../../src/contract/index.ts'
import { findCheckpointProblem, findKeyLogProblem, listIntroduced } from '../../src/evidence/key-chain.ts'
import { noteText, signedNote, tlogProof, verifierKey } from '../../src/evidence/tlog.ts'
import type { Reach } from '../db/reach.ts'
import { Failure } from '../failure.ts'
import { tryReadCheckpoint } from './backdating.ts'
import { getCheckpoint, getInclusion } from './proofs.ts'
import { readKeys, type Signer } from './signer.ts'

interface Deps {
  readonly sql: Sql
  readonly signer: Signer
}

interface Note {
  readonly size: number
  readonly root: string
  readonly text: string
  /** For configuring witnesses. */
  readonly verifierKey: string
}

/**
 * Signs the content of the signed document: a checkpoint written into the database must not get a signature.
 * @throws Failure `not_found`; `internal_error` if the checkpoint does not verify; `unavailable`
 */
export async function getTlogCheckpoint({ sql, signer }: Deps, reach: Reach, size?: number): Promise<Note> {
  const { accountId } = reach
  const signed = tryReadCheckpoint(await getCheckpoint({ sql }, reach, { tree_size: size }))
  const { keys, documents } = await readKeys(sql, signer.keyId)
  const changed = (problem: string) =>
    new Failure('internal_error', `A checkpoint of the account ${accountId} was changed: ${problem}.`)
  if (!signed || signed.checkpoint.account_id !== accountId) throw changed('it is not a checkpoint of the account')
  const { tree_size, root_hash } = signed.checkpoint
  const keyProblem = findCheckpointProblem(signed, keys)
  const problem = keyProblem === null ? findKeyLogProblem(documents, signed.checkpoint) : `it ${keyProblem}`
  if (problem !== null) throw changed(problem)
  if (size !== undefined && tree_size !== size) throw changed(`it has ${tree_size} leaves`)
  const origin = `consentctl/${listIntroduced(documents)[0]}/${accountId}`
  const text = noteText(origin, { size: tree_size, root: Buffer.from(root_hash, 'hex') })
  const signature = await signer.signBytes(Buffer.from(text))
  return {
    size: tree_size,
    root: root_hash,
    text: signedNote(text, origin, signer.publicKey, signature),
    verifierKey: verifierKey(origin, signer.publicKey),
  }
}

/** @throws Failure like `getTlogCheckpoint` */
export async function getTlogProof(deps: Deps, reach: Reach, query: InclusionQuery): Promise<string> {
  const note = await getTlogCheckpoint(deps, reach, query.tree_size)
  const proof = await getInclusion(deps, reach, { ...query, tree_size: note.size })
  if (proof.root_hash === note.root) return tlogProof(proof.leaf_index, proof.path, note.text)
  throw new Failure(
    'internal_error',
    `The log of the account ${reach.accountId} has a different root from its checkpoint.`,
  )
}
