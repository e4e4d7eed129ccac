import type { Sql } from 'postgres'
import type { Chance } from './random.ts'

export const tables = ['consents', 'consent_history', 'log_entries'] as const
export type Table = (typeof tables)[number]

export interface Column {
  readonly name: string
  readonly type: string
  readonly isNullable: boolean
}

export async function columnsOf(sql: Sql, table: string): Promise<Column[]> {
  return await sql<Column[]>`
    select column_name as name, data_type as type, is_nullable = 'YES' as "isNullable"
    from information_schema.columns where table_name = ${table} and table_schema = 'public' order by ordinal_position`
}

/** Takes it from every column but the keys that it may not be null; a superuser can. */
export async function allowNulls(sql: Sql): Promise<void> {
  for (const table of tables) {
    for (const { name, isNullable } of await columnsOf(sql, table)) {
      const isKey = ['account_id', 'id', 'consent_id', 'version'].includes(name)
      if (!isNullable && !isKey) await sql`alter table ${sql(table)} alter column ${sql(name)} drop not null`
    }
  }
}

/** Words that checks allow. */
const words: Record<string, readonly string[]> = {
  action: ['created', 'imported', 'updated', 'deleted', 'purged', 'restored', 'restored_despite_erasure'],
  changed_by: ['api_key', 'user', 'site_token', 'system'],
}

/** Another value of a column than it has, as PostgreSQL writes it; null too where that may be. */
export function otherValue(chance: Chance, { name, type, isNullable }: Column, value: string | null): string | null {
  if (value !== null && isNullable && chance.below(3) === 0) return null
  if (words[name]) return chance.one(words[name].filter(word => word !== value))
  if (name === 'leaf_index') return String(1_000_000 + chance.below(1_000_000_000))
  if (type === 'uuid') return chance.uuid()
  if (type === 'boolean') return value === 'true' || value === 't' ? 'false' : 'true'
  if (type === 'integer' || type === 'bigint') return String(Number(value) + 10 + chance.below(50))
  if (type === 'bytea') return `\\x${chance.bytes(value === null ? 16 : (value.length - 2) / 2).toString('hex')}`
  if (type === 'jsonb') return JSON.stringify({ forged: chance.below(1000) })
  if (type === 'cidr') return `198.51.${chance.below(256)}.0/24`
  if (type.startsWith('timestamp')) {
    const at = value === null ? Date.UTC(2026, 1, 1) : Date.parse(value.replace(/([+-]\d\d)$/, '$1:00'))
    return new Date(at + chance.one([-86_400_000, -1, 1, 2, 60_000])).toISOString()
  }
  return `${value ?? ''}x`
}
