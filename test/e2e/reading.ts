import { request } from 'undici'
import type { AuditEntry, Consent } from '../../src/contract/index.ts'
import type { Target } from './ledger.ts'

/** Every record of an account, the removed ones too, as the service lists them. */
export async function listAll(target: Target): Promise<Consent[]> {
  const all: Consent[] = []
  let cursor: string | null = ''
  while (cursor !== null) {
    const query = `?include_deleted=true&limit=100${cursor && `&cursor=${encodeURIComponent(cursor)}`}`
    const page: { data: Consent[]; next_cursor: string | null } = await read(target, query)
    all.push(...page.data)
    cursor = page.next_cursor
  }
  return all
}

/** A record's history as the service tells it; empty where it knows of none. */
export async function historyOf(target: Target, { id }: Consent): Promise<AuditEntry[]> {
  const found = await read<{ data: AuditEntry[] }>(target, `/${id}/history`, 404)
  return found.data ?? []
}

/** The body of an answer that is 200, or of the other one that may be. */
async function read<T>({ url, key }: Target, path: string, other = 200): Promise<T> {
  const { statusCode, body } = await request(`${url}/api/v1/consents${path}`, {
    headers: { authorization: `Bearer ${key}` },
  })
  if (statusCode !== 200 && statusCode !== other)
    throw new Error(`GET ${path} was answered with ${statusCode}: ${await body.text()}`)
  return (await body.json()) as T
}

export function groupBy<K, T>(items: Iterable<T>, keyOf: (item: T) => K): Map<K, T[]> {
  const groups = new Map<K, T[]>()
  for (const item of items) {
    const group = groups.get(keyOf(item))
    if (group) group.push(item)
    else groups.set(keyOf(item), [item])
  }
  return groups
}

export async function inParallel<T>(
  workers: number,
  items: T[],
  work: (item: T) => Promise<void>,
): Promise<void> {
  const left = items.values()
  const worker = async () => {
    for (const item of left) await work(item)
  }
  await Promise.all(Array.from({ length: workers }, worker))
}
