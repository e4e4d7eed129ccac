import type { Sql } from 'postgres'
import type { Config } from '../config.ts'
import type { Batcher } from '../db/batching.ts'
import type { Geo } from '../net/geo.ts'
import type { PublishedNotices } from '../notices/published.ts'
import type { Policies } from './policies.ts'
import type { ConsentJson, Created, Draft } from './rows.ts'

export interface ConsentDeps {
  readonly sql: Sql
  readonly config: Pick<Config, 'ipStorage'>
  readonly geo: Geo
  readonly originSecret: Uint8Array
  readonly policies: Policies
  readonly notices: PublishedNotices
  readonly reads: Batcher<string, ConsentJson | undefined>
  readonly creates: Batcher<Draft, Created>
}
