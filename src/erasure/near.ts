import type { Client } from '../client/client.ts'
import { subjects as subjectEndpoints } from '../contract/subjects.ts'
import { explain } from '../errors/explain.ts'

/** Differs from a given identifier only in case, surrounding blanks or Unicode form. */
export interface NearMatch {
  readonly given: string
  readonly subject_id: string
  readonly live: number
  readonly deleted: number
}

/** At most 100 for each identifier; null if not supported. */
export async function findNearMatches(api: Client, subjects: readonly string[]): Promise<NearMatch[] | null> {
  if (!(await api.supports(subjectEndpoints.nearMatches))) return null
  const found = new Map<string, NearMatch>()
  for (const given of subjects) {
    const { data } = await api.call(subjectEndpoints.nearMatches, { body: { subject_id: given }, isIdempotent: true })
    for (const match of data)
      if (!subjects.includes(match.subject_id) && !found.has(match.subject_id))
        found.set(match.subject_id, { given, ...match })
  }
  return [...found.values()]
}

/** Null also if the key may not read. */
export async function countNearMatches(api: Client, subjects: readonly string[]): Promise<number | null> {
  try {
    return (await findNearMatches(api, subjects))?.length ?? null
  } catch (error) {
    if (explain(error).code === 'forbidden') return null
    throw error
  }
}
