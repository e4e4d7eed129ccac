import postgres, { type Sql } from 'postgres'

/** A migrated database on the tests' PostgreSQL server, to be copied. */
export const templateName = 'consentctl_test_template'

/**
 * Makes a database on a server, which is named by its URL without a database's name, as a copy of another one; on each node of a
 * Citus cluster, whose coordinator that is. Resolves to the database's URL.
 */
export async function createDatabase(server: string, name: string, template = 'template1'): Promise<string> {
  const nodes = await nodesOf(server)
  // A copy knows the nodes and the places of its shards, because the names of databases are in neither.
  for (const node of nodes) await copy(node, name, template)
  if (nodes.length > 1 && template === 'template1') await joinNodes(nodes, name)
  return `${server}/${name}`
}

/** Makes a cluster of the databases of one name on several servers, the coordinator's first. */
export async function joinNodes(servers: readonly string[], name: string): Promise<void> {
  for (const server of servers) await on(`${server}/${name}`, sql => sql`create extension citus`)
  await on(`${servers[0]}/${name}`, async sql => {
    await sql`select pg_advisory_lock(1)` // until the connection ends: nodes cannot get to know each other twice at once
    for (const [index, server] of servers.entries()) {
      const { hostname, port } = new URL(server)
      if (index === 0) await sql`select citus_set_coordinator_host(${hostname}, ${Number(port)})`
      else await sql`select citus_add_node(${hostname}, ${Number(port)})`
    }
  })
}

/** Drops a database, if there is one of this name, from everybody who uses it. */
export async function dropDatabase(server: string, name: string): Promise<void> {
  for (const node of await nodesOf(server)) {
    await on(`${node}/postgres`, async sql => {
      await forbidConnections(sql, name) // the maintenance of Citus connects again at once
      await sql`drop database if exists ${sql(name)} with (force)`
    })
  }
}

async function copy(server: string, name: string, template: string): Promise<void> {
  await on(`${server}/postgres`, async sql => {
    // A pooler and the maintenance of Citus have connections to what nobody uses, and a database that is copied may have none.
    if (template !== 'template1') await forbidConnections(sql, template)
    await sql`select pg_terminate_backend(pid, 5000) from pg_stat_activity where datname = ${template}`
    await sql`create database ${sql(name)} template ${sql(template)}`
  })
}

/** Forbids connections to a database, once: two statements at a time that alter the same database end with an error. */
async function forbidConnections(sql: Sql, database: string): Promise<void> {
  await sql`select pg_advisory_lock(2)`
  const allowing = await sql`select 1 from pg_database where datname = ${database} and datallowconn`
  if (allowing.length > 0) await sql`alter database ${sql(database)} with allow_connections false`
  await sql`select pg_advisory_unlock(2)`
}

/** The nodes of a Citus cluster by their URLs, the coordinator first; otherwise the server alone. */
function nodesOf(server: string): Promise<string[]> {
  return on(`${server}/postgres`, async sql => {
    const found = await sql`select 1 from pg_extension where extname = 'citus'`
    if (found.length === 0) return [server]
    const nodes = await sql<{ nodename: string; nodeport: number }[]>`
      select nodename, nodeport from pg_dist_node order by groupid`
    return nodes.map(({ nodename, nodeport }) => {
      const url = new URL(server)
      url.hostname = nodename
      url.port = String(nodeport)
      return url.href.replace(/\/$/, '')
    })
  })
}

async function on<T>(url: string, work: (sql: Sql) => PromiseLike<T>): Promise<T> {
  const sql = postgres(url, { max: 1, prepare: false, onnotice: () => {} })
  try {
    return await work(sql)
  } finally {
    await sql.end()
  }
}
