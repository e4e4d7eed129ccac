import { join } from 'node:path'
import { inject } from 'vitest'
import { createDatabase, dropDatabase, templateName } from '../support/databases.ts'

/** True if campaigns run in their full form, for minutes: CONSENTCTL_TEST_LONG=1. */
export const isLongRun = process.env['CONSENTCTL_TEST_LONG'] === '1'

/** Kills of a command in a campaign: CONSENTCTL_TEST_KILLS, or the usual number. */
export function killsOf(usual: number): number {
  return Number(process.env['CONSENTCTL_TEST_KILLS'] ?? usual)
}

/** Returns a line for each text with the number of times it occurs. */
export function tally(texts: readonly string[]): string {
  const counts = new Map<string, number>()
  for (const text of texts) counts.set(text, (counts.get(text) ?? 0) + 1)
  return [...counts].map(([text, count]) => `  ${count} × ${text}\n`).join('')
}

/** An empty database on the tests' PostgreSQL server, by its URL; one that a test left there before is replaced. */
export async function newDatabase(name: string, template?: string): Promise<string> {
  const server = inject('clusterUrl') ?? ''
  await dropDatabase(server, name)
  return await createDatabase(server, name, template)
}

/**
 * The variable that names a database without accounts for `serve` and `admin`: on PostgreSQL, which starts in a fraction of
 * the embedded engine's time, or in `folder` where there is none.
 */
export async function databaseFor(name: string, folder: string): Promise<Record<string, string>> {
  if (!inject('clusterUrl')) return { CONSENTCTL_DATA_DIR: join(folder, name) }
  return { DATABASE_URL: await newDatabase(`consentctl_test_${name}`, templateName) }
}

/** Returns random numbers from 0 to 1, the same for the same seed (mulberry32). */
export function randomFrom(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}
