import { findPrograms, startPostmaster } from './postmaster.ts'

export { freePort } from './postmaster.ts'

/** A PostgreSQL server for tests, by its URL without a database's name. */
export interface Cluster {
  readonly url: string
  stop(): Promise<void>
}

/** `TEST_DATABASE_URL`, or the folder of PostgreSQL's server programs, or null. */
export function whereIsPostgres(): string | null {
  return process.env['TEST_DATABASE_URL'] || findPrograms()
}

/** Starts a private server on a free loopback port, or uses the one that `TEST_DATABASE_URL` names. */
export async function startCluster(): Promise<Cluster> {
  const named = process.env['TEST_DATABASE_URL']
  if (named) return { url: named.replace(/\/[^/]*$/, ''), stop: async () => {} }
  const { url, remove } = await startPostmaster({ durable: false })
  return { url, stop: remove }
}
