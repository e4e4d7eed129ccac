import type { TransactionSql } from 'postgres'

interface Table {
  readonly name: string
  /** Whether its rows are of tenants: its primary key begins with their account. */
  readonly hasTenant: boolean
}

/**
 * Where the database is a Citus cluster's: spreads the tables of tenants over its nodes by their account, all rows of one
 * account together, and has every other table whole on each node. Tables that are so already stay as they are. Rows move
 * with their tables, and none is left in the files where it was.
 */
export async function distribute(tx: TransactionSql): Promise<void> {
  const citus = await tx`select 1 from pg_extension where extname = 'citus'`
  if (citus.length === 0) return
  const tables = await findLocal(tx)
  for (const { name, hasTenant } of tables) {
    const mate = name === 'accounts' ? 'none' : 'accounts'
    if (hasTenant) await tx`select create_distributed_table(${name}, 'account_id', colocate_with => ${mate})`
    else await tx`select create_reference_table(${name})`
  }
  for (const { name } of tables) await tx`select truncate_local_data_after_distributing_table(${name})`
}

/** The tables that are on this node alone, none before one that it refers to; the one that all others go with is the first. */
function findLocal(tx: TransactionSql): Promise<Table[]> {
  return tx<Table[]>`
    with recursive placed as (
      select oid, 0 as depth from pg_class
      where relnamespace = current_schema()::regnamespace and relkind = 'r'
      union
      select f.conrelid, depth + 1 from placed join pg_constraint f on f.confrelid = placed.oid and f.contype = 'f'
    )
    select oid::regclass::text as name, exists (
      select from pg_index i join pg_attribute a on a.attrelid = i.indrelid and a.attnum = i.indkey[0]
      where i.indrelid = placed.oid and i.indisprimary and a.attname = 'account_id'
    ) as "hasTenant"
    from placed where not exists (select from pg_dist_partition where logicalrelid = placed.oid)
    group by oid order by oid <> 'accounts'::regclass, max(depth), name`
}
