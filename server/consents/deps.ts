import type { Sql } from 'postgres'
import type { Config } from '../config.ts'
import type { Together } from '../db/batching.ts'
import type { Geo } from '../net/geo.ts'
import type { Policies } from './policies.ts'
import type { Draft, Made, Shown } from './rows.ts'

/** What the work on records needs. */
export interface Deps {
  readonly sql: Sql
  readonly config: Pick<Config, 'ipStorage'>
  readonly geo: Geo
  readonly policies: Policies
  /** What is asked for at one moment, to be read and written together. */
  readonly reads: Together<string, Shown | undefined>
  readonly creates: Together<Draft, Made>
}
