import * as z from 'zod'
import { Checkpoint, CheckpointV1 } from './documents/checkpoint.ts'
import { Sha256, signed } from './documents/fields.ts'
import { endpoint, NoQuery, type ResourceDocs } from './endpoint.ts'
import { Count, Id, queryInteger, Uuid } from './values.ts'

const Index = queryInteger(0, 9_999_999_998)
const Size = queryInteger(1, 9_999_999_999)
const Path = z.array(Sha256).describe('Hashes of the proof (RFC 9162), in its order.')

const InclusionQuery = z
  .strictObject({
    record_id: Uuid.optional().describe('The record of an entry. This or leaf_index is needed.'),
    version: queryInteger(1, 2_147_483_647).optional().describe('Of the entry. Default: the newest in the tree.'),
    leaf_index: Index.optional().describe('The leaf itself, from 0.'),
    tree_size: Size.optional().describe('Default: that of the newest checkpoint.'),
  })
  .refine(query => query.record_id !== undefined || query.leaf_index !== undefined, {
    message: 'record_id or leaf_index is needed',
  })
export type InclusionQuery = z.output<typeof InclusionQuery>

export const InclusionProof = z.object({
  record_id: Id,
  version: Count.meta({ minimum: 1 }).describe('With record_id, the audit entry whose hash the leaf has.'),
  leaf_index: Count.describe('From 0.'),
  leaf_hash: Sha256.describe('SHA-256 of a zero byte and the hash of the entry.'),
  tree_size: Count.meta({ minimum: 1 }),
  root_hash: Sha256.describe('What the proof leads to: the root_hash of a checkpoint of that size.'),
  path: Path,
})
export type InclusionProof = z.output<typeof InclusionProof>

export const ConsistencyProof = z.object({
  first: Count.meta({ minimum: 1 }).describe('The smaller tree_size.'),
  second: Count.meta({ minimum: 1 }).describe('The larger one.'),
  path: Path,
})
export type ConsistencyProof = z.output<typeof ConsistencyProof>

export const log = {
  checkpoint: endpoint({
    summary: 'Get the newest signed checkpoint of the log of the account',
    method: 'GET',
    path: '/api/v1/log/checkpoint',
    access: 'account',
    scope: 'read',
    query: NoQuery,
    status: 200,
    response: z.union([signed(Checkpoint), signed(CheckpointV1)]),
    errors: ['not_found'],
  }),
  inclusion: endpoint({
    summary: 'Get the proof that an audit entry is in the log',
    method: 'GET',
    path: '/api/v1/log/inclusion',
    access: 'account',
    scope: 'read',
    query: InclusionQuery,
    status: 200,
    response: InclusionProof,
    errors: ['not_found'],
  }),
  consistency: endpoint({
    summary: 'Get the proof that the log only grew from one size to another',
    method: 'GET',
    path: '/api/v1/log/consistency',
    access: 'account',
    scope: 'read',
    query: z.strictObject({
      first: Size.describe('The tree_size of the earlier checkpoint.'),
      second: Size.optional().describe('That of the later one. Default: of the newest.'),
    }),
    status: 200,
    response: ConsistencyProof,
    errors: ['not_found'],
  }),
}

export const logDocs: ResourceDocs<typeof log> = {
  description:
    'The log of an account: a Merkle tree (RFC 9162) over the hashes of all its audit entries. Entries wait for the next checkpoint.',
  endpoints: {
    checkpoint: {
      description:
        'Every byte counts: the last line is the signature of those above. Keep it where nobody who can write to the database can write. A request takes a unit of the quota, as those below do.',
      success: 'The checkpoint. An account without any gets 404.',
    },
    inclusion: { success: 'The proof. What is not in a tree of that size, or not yet, is a 404.' },
    consistency: { success: 'The proof. A size that the log does not have is a 404.' },
  },
}
