import * as z from 'zod'
import { Checkpoint } from './documents/checkpoint.ts'
import { Sha256, signed } from './documents/fields.ts'
import { accountRead, endpoint, NoQuery, type ResourceDocs } from './endpoint.ts'
import { everyRole, operators } from './roles.ts'
import { Count, Id, QueryBoolean, queryInteger, Uuid } from './values.ts'

const Index = queryInteger(0, 9_999_999_998)
const Size = queryInteger(1, 9_999_999_999)
const Path = z.array(Sha256).describe('Hashes of the proof (RFC 9162), in its order.')

const Version = queryInteger(1, 2_147_483_647)

const CheckpointQuery = z
  .strictObject({
    tree_size: Size.optional().describe('Of an earlier checkpoint.'),
    timestamped: QueryBoolean.optional().describe('Only checkpoints that have a timestamp.'),
    record_id: Uuid.optional().describe(
      'The first checkpoint that has an entry of this record, instead of the newest.',
    ),
    version: Version.optional().describe('Of the entry of record_id. Default: 1.'),
  })
  .refine(query => query.version === undefined || query.record_id !== undefined, {
    message: 'version needs record_id',
  })
export type CheckpointQuery = z.output<typeof CheckpointQuery>

const InclusionQuery = z
  .strictObject({
    record_id: Uuid.optional().describe('The record of an entry. This or leaf_index is needed.'),
    version: Version.optional().describe('Of the entry. Default: the newest in the tree.'),
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
  root_hash: Sha256.describe('The root_hash of a checkpoint of that size.'),
  path: Path,
})
export type InclusionProof = z.output<typeof InclusionProof>

export const ConsistencyProof = z.object({
  first: Count.meta({ minimum: 1 }).describe('The smaller tree_size.'),
  second: Count.meta({ minimum: 1 }).describe('The larger one.'),
  path: Path,
})
export type ConsistencyProof = z.output<typeof ConsistencyProof>

const read = { ...accountRead, errors: ['not_found'] } as const

export const log = {
  checkpoint: endpoint({
    ...read,
    siteKeys: 'filtered',
    roles: everyRole,
    summary: 'Get the newest signed checkpoint of the log of the account',
    path: '/api/v1/log/checkpoint',
    query: CheckpointQuery,
    response: signed(Checkpoint),
  }),
  addCheckpoint: endpoint({
    summary: 'Make a checkpoint of the log of the account now',
    method: 'POST',
    path: '/api/v1/log/checkpoint',
    access: 'account',
    scope: 'read',
    siteKeys: 'allowed',
    roles: operators,
    query: NoQuery,
    status: 200,
    response: signed(Checkpoint),
    errors: ['not_found'],
  }),
  timestamp: endpoint({
    ...read,
    siteKeys: 'allowed',
    roles: everyRole,
    summary: 'Get the timestamp of a checkpoint (RFC 3161)',
    path: '/api/v1/log/timestamp',
    query: z.strictObject({ tree_size: Size.optional().describe('Default: of the newest checkpoint that has one.') }),
    response: z.unknown(),
    media: ['application/timestamp-reply'],
  }),
  tlogCheckpoint: endpoint({
    ...read,
    siteKeys: 'allowed',
    roles: everyRole,
    summary: 'Get a checkpoint as a note for witnesses (C2SP tlog-checkpoint)',
    path: '/api/v1/log/tlog-checkpoint',
    query: z.strictObject({ tree_size: Size.optional().describe('Default: of the newest checkpoint.') }),
    response: z.string(),
    media: ['text/plain'],
  }),
  tlogProof: endpoint({
    ...read,
    siteKeys: 'filtered',
    roles: everyRole,
    summary: 'Get the proof that an audit entry is in the log, with its checkpoint (C2SP tlog-proof)',
    path: '/api/v1/log/tlog-proof',
    query: InclusionQuery,
    response: z.string(),
    media: ['text/plain'],
  }),
  inclusion: endpoint({
    ...read,
    siteKeys: 'filtered',
    roles: everyRole,
    summary: 'Get the proof that an audit entry is in the log',
    path: '/api/v1/log/inclusion',
    query: InclusionQuery,
    response: InclusionProof,
  }),
  consistency: endpoint({
    ...read,
    siteKeys: 'allowed',
    roles: everyRole,
    summary: 'Get the proof that the log has only grown from one size to another',
    path: '/api/v1/log/consistency',
    query: z.strictObject({
      first: Size.describe('The tree_size of the earlier checkpoint.'),
      second: Size.optional().describe('That of the later one. Default: of the newest.'),
    }),
    response: ConsistencyProof,
  }),
}

const exampleOrigin = 'consentctl/kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k/01a1fab8-e7a3-70b5-8c04-6f3ad2b91e57'

const exampleNote = `${exampleOrigin}
3
xwtZBiXLrMCWcs0zkR5aIpPwhRKr/cVKveBwU7Dbb4c=

— ${exampleOrigin} …
`

export const logDocs: ResourceDocs<typeof log> = {
  description:
    'The log of an account: a Merkle tree (RFC 9162) over the hashes of all its audit entries. Entries wait for the next checkpoint.',
  endpoints: {
    checkpoint: {
      description:
        'Every byte counts: the last line is the signature of those above. Store it where no one with write access to the database can write. A request takes a unit of the quota, as those below do.',
      success: 'The checkpoint. An account without any gets 404.',
    },
    addCheckpoint: {
      description:
        'Entries then do not wait for the checkpoint that is made every `CHECKPOINT_MINUTES`. Nothing is made if there is no new entry, or if the newest checkpoint is less than a second old.',
      success: 'The newest checkpoint, new or existing.',
    },
    timestamp: {
      description:
        'What the time-stamping authority of `TSA_URL` answered, in DER: `openssl ts -verify -data checkpoint.json -in checkpoint.tsr -CAfile ca.pem` checks that it is about the bytes of that checkpoint. It comes after the checkpoint, as soon as the authority answers.',
      success: 'The timestamp. A checkpoint without one is a 404.',
    },
    tlogCheckpoint: {
      description:
        'The size and root of a checkpoint as a signed note (c2sp.org/tlog-checkpoint), signed when it is asked for by the present key. The origin, which is also the name of the key, names the first key of the instance and the account.',
      success: 'The note. A size that no checkpoint has is a 404.',
      text: exampleNote,
      responseHeaders: {
        'Verifier-Key': {
          description:
            'The key of the note as a witness is configured with it: name, id and key (c2sp.org/signed-note).',
          required: true,
          schema: { type: 'string' },
          example: `${exampleOrigin}+d5d8a1b7+AdepGAGCsXK31Uv+08lkBzoO4XLz2qYjJa8CGmjwh1Ea`,
        },
      },
    },
    tlogProof: {
      description:
        'The proof of `/log/inclusion` and the note of a checkpoint in one text (c2sp.org/tlog-proof). `tree_size` must be that of a checkpoint. The entry is the 32 bytes of its hash.',
      success: 'The proof. What is not in the tree, and a size that no checkpoint has, is a 404.',
      text: `c2sp.org/tlog-proof@v1\nindex 1\nGKA7TiO+I/5G1bpkSIzAtdlkonUMiKO3f3CJx6WogA4=\n\n${exampleNote}`,
    },
    inclusion: { success: 'The proof. What is not in a tree of that size, or not yet, is a 404.' },
    consistency: { success: 'The proof. A size that the log does not have is a 404.' },
  },
}
