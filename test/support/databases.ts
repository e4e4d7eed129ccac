import postgres, { type Sql } from 'postgres'

/** A migrated database on the tests' PostgreSQL server, to be copied. */
export const templateName = 'consentctl_test_template'

interface Node {
  readonly nodename: string
  readonly nodeport: number
  /** The node that the others are known to, and that everybody talks to. */
  readonly isCoordinator: boolean
}

/**
 * Makes a database on a server, which is named by its URL without a database's name, as a copy of another one; or an empty
 * one on each node of a Citus cluster, whose coordinator that is. Resolves to the database's URL.
 */
export async function createDatabase(server: string, name: string, template = 'template1'): Promise<string> {
  const nodes = await nodesOf(server)
  if (nodes.length === 0) await copy(server, name, template)
  else await on(`${server}/postgres`, sql => makeOnNodes(sql, { server, name, nodes }))
  return `${server}/${name}`
}

interface NewDatabase {
  readonly server: string
  readonly name: string
  readonly nodes: readonly Node[]
}

async function makeOnNodes(sql: Sql, { server, name, nodes }: NewDatabase): Promise<void> {
  await sql`select pg_advisory_lock(1)` // until the connection ends: nodes cannot get to know each other twice at once
  for (const node of nodes) {
    await on(urlOf(server, node, 'postgres'), sql => sql`create database ${sql(name)}`)
    await on(urlOf(server, node, name), sql => sql`create extension citus`)
  }
  await on(`${server}/${name}`, async own => {
    for (const { nodename, nodeport, isCoordinator } of nodes) {
      if (isCoordinator) await own`select citus_set_coordinator_host(${nodename}, ${nodeport})`
      else await own`select citus_add_node(${nodename}, ${nodeport})`
    }
  })
}

/** Drops a database, if there is one of this name, from everybody who uses it. */
export async function dropDatabase(server: string, name: string): Promise<void> {
  const urls = (await nodesOf(server)).map(node => urlOf(server, node, 'postgres'))
  for (const url of urls.length > 0 ? urls : [`${server}/postgres`]) {
    await on(url, sql => sql`drop database if exists ${sql(name)} with (force)`)
  }
}

async function copy(server: string, name: string, template: string): Promise<void> {
  await on(`${server}/postgres`, async sql => {
    // A pooler still has connections to what nobody uses, and a database that is copied may have none.
    await sql`select pg_terminate_backend(pid, 5000) from pg_stat_activity where datname = ${template}`
    await sql`create database ${sql(name)} template ${sql(template)}`
  })
}

/** Returns true if a server is the coordinator of a Citus cluster: its database `postgres` has the extension and knows the nodes. */
export async function isCitus(server: string): Promise<boolean> {
  return (await nodesOf(server)).length > 0
}

/** The nodes of a Citus cluster, the coordinator first; none of any other server. */
function nodesOf(server: string): Promise<Node[]> {
  return on(`${server}/postgres`, async sql => {
    const found = await sql`select 1 from pg_extension where extname = 'citus'`
    if (found.length === 0) return []
    return await sql<Node[]>`
      select nodename, nodeport, groupid = 0 as "isCoordinator" from pg_dist_node order by groupid`
  })
}

function urlOf(server: string, { nodename, nodeport }: Node, name: string): string {
  const url = new URL(`${server}/${name}`)
  url.hostname = nodename
  url.port = String(nodeport)
  return url.href
}

async function on<T>(url: string, work: (sql: Sql) => PromiseLike<T>): Promise<T> {
  const sql = postgres(url, { max: 1, prepare: false, onnotice: () => {} })
  try {
    return await work(sql)
  } finally {
    await sql.end()
  }
}
