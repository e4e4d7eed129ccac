import type { Context } from '../context.ts'
import { consents } from '../contract/consents.ts'
import { exit } from '../errors/errors.ts'
import { exitOf } from '../errors/explain.ts'
import { mapInOrder } from '../io/concurrency.ts'
import { isLive } from './found.ts'

/** Those of some records that are live. Throws where the instance cannot tell. */
export async function liveOf({ api }: Pick<Context, 'api'>, ids: readonly string[]): Promise<string[]> {
  const live: string[] = []
  const look = async (id: string) => {
    try {
      return { id, isLive: isLive(await api.call(consents.get, { params: { id } })), error: null }
    } catch (error) {
      return { id, isLive: false, error: exitOf(error) === exit.notFound ? null : error }
    }
  }
  for await (const { id, isLive, error } of mapInOrder(ids, { concurrency: 8 }, look)) {
    if (error !== null) throw error
    if (isLive) live.push(id)
  }
  return live
}
