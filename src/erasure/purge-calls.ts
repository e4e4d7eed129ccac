import type { Client } from '../client/client.ts'
import { erasedRecordsLimit, type PurgeAnswer, subjects } from '../contract/subjects.ts'

/** Asks about records, at most `erasedRecordsLimit` of them. */
export type Ask = (ids: readonly string[]) => Promise<PurgeAnswer>

/** Asks which records are purged. It can be repeated. */
export function askForPurged(api: Client): Ask {
  return ids => api.call(subjects.certifyPurge, { body: { ids: [...ids] }, isIdempotent: true })
}

/** Has the deleted records purged, in as many calls as it takes; one that purges nothing more is the last. */
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

/** Returns the state of each record, by id, without changing any. */
export async function previewPurge(api: Client, ids: readonly string[]): Promise<Map<string, string>> {
  const states = new Map<string, string>()
  for (let start = 0; start < ids.length; start += erasedRecordsLimit) {
    const body = { ids: ids.slice(start, start + erasedRecordsLimit), dry_run: true }
    const { records } = await api.call(subjects.purge, { body })
    for (const { id, state } of records) states.set(id, state)
  }
  return states
}
