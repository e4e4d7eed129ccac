import { expect } from 'vitest'
import type { NewApiKey } from '../../../src/contract/index.ts'
import type { Signed, TestService } from '../../support/service.ts'

export const path = '/api/v1/keys'

/** A new key, made in the dashboard. */
export async function makeKey(service: TestService, headers: Signed, draft: object = {}): Promise<NewApiKey> {
  const answer = await service.call('POST', path, { headers, body: { name: 'a key', ...draft } })
  expect(answer.status, answer.text).toBe(201)
  return answer.body
}

/** Every table as text: whatever stands anywhere in the database stands in it. */
export async function dumpDatabase({ sql }: TestService): Promise<string> {
  const tables = await sql<{ name: string }[]>`
    select table_name as name from information_schema.tables where table_schema = 'public' order by 1`
  const rows = await Promise.all(
    tables.map(({ name }) => sql<{ row: string }[]>`select t::text as row from ${sql(name)} t`),
  )
  return rows
    .flat()
    .map(({ row }) => row)
    .join('\n')
}
