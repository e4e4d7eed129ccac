import { randomUUID } from 'node:crypto'
import type { TestService } from '../../support/service.ts'
import type { Owner } from './records.ts'

export interface Answer {
  readonly given_at: string
  readonly accepted: boolean
  readonly preferences: object
  readonly policy_version?: number
}

export interface Imported extends Answer {
  readonly subject_id?: string
  readonly site_id?: string
  readonly origin?: { readonly system: string; readonly id: string; readonly evidence?: string }
  readonly changes?: readonly Answer[]
}

/** Imports a record, and returns its id. */
export async function importRecord(
  { sql }: Pick<TestService, 'sql'>,
  owner: Owner,
  { changes = [], origin = { system: 'acme', id: randomUUID() }, given_at, ...row }: Imported,
): Promise<string> {
  const { id } = await owner.create({ policy_version: 1, ...row })
  const { policy_version = 1, accepted, preferences } = row
  const answers = [{ given_at, accepted, preferences, policy_version }, ...changes]
  await sql`delete from log_entries where consent_id = ${id}`
  const [first] = await sql`select * from consent_history where consent_id = ${id}`
  await sql`delete from consent_history where consent_id = ${id}`
  for (const [index, answer] of answers.entries())
    await sql`insert into consent_history ${sql({ ...first, ...answer, version: index + 1, action: 'imported', preferences: sql.json(answer.preferences as never) } as never)}`
  const last = answers.at(-1)
  await sql`
    update consents set notice_entry = null, expires_at = null, policy_version = ${last?.policy_version ?? 1}, version = ${answers.length}, accepted = ${last?.accepted ?? false},
      preferences = ${sql.json((last?.preferences ?? {}) as never)}, given_at = ${last?.given_at ?? null},
      origin_system = ${origin.system}, origin_id = ${origin.id}, origin_evidence = ${origin.evidence ?? null}
    where id = ${id}`
  return id
}
