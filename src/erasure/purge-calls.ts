import type { Client } from '../client/client.ts'
import { erasedRecordsLimit, type PurgeAnswer, subjects } from '../contract/subjects.ts'

/** At most `erasedRecordsLimit` ids. */
export type Ask = (ids: readonly string[]) => Promise<PurgeAnswer>

export function askForPurged(api: Client): Ask {
  return ids => api.call(subjects.certifyPurge, { body: { ids: [...ids] }, isIdempotent: true })
}

/** Repeats until complete, or nothing more is purged. */
export function orderPurge(api: Client): Ask {
  return async ids => {
    for (let left = Number.POSITIVE_INFINITY; ; ) {
      const answer = await api.call(subjects.purge, { body: { ids: [...ids] } })
      const deleted = answer.records.filter(({ state }) => state === 'deleted').length
      if (answer.complete || deleted >= left) return answer
      left = deleted
    }
  }
}

export async function previewPurge(api: Client, ids: readonly string[]): Promise<Map<string, string>> {
  const states = new Map<string, string>()
  for (let start = 0; start < ids.length; start += erasedRecordsLimit) {
    const body = { ids: ids.slice(start, start + erasedRecordsLimit), dry_run: true }
    const { records } = await api.call(subjects.purge, { body })
    for (const { id, state } of records) states.set(id, state)
  }
  return states
}
