import DataLoader from 'dataloader'
import { type DbErrorKind, databaseTimeoutMs, dbErrorKind } from './errors.ts'

/** Returns results in the order of the items; an `Error` rejects one. */
type Execute<Item, Result> = (items: readonly Item[]) => Promise<readonly (Result | Error)[]>

/** Codes of errors that one item can cause; null for an error outside the database. */
const itemErrors = new Set<DbErrorKind | null>([null, 'conflict', 'missing'])

/** Combines calls of one tick into one statement. If one item may have made it fail, retries each alone. */
export class Batcher<Item, Result> {
  readonly #loaders = new Map<string, DataLoader<Item, Result>>()

  run(key: string, item: Item, execute: Execute<Item, Result>): Promise<Result> {
    let loader = this.#loaders.get(key)
    if (!loader) {
      loader = new DataLoader<Item, Result>(items => executeBatch(items, execute), {
        cache: false,
        batchScheduleFn: dispatch =>
          setImmediate(() => {
            this.#loaders.delete(key)
            dispatch()
          }),
      })
      this.#loaders.set(key, loader)
    }
    return loader.load(item)
  }
}

async function executeBatch<Item, Result>(items: readonly Item[], execute: Execute<Item, Result>) {
  const start = performance.now()
  try {
    return await execute(items)
  } catch (error) {
    const isInTime = performance.now() - start < databaseTimeoutMs
    if (items.length === 1 || !isInTime || !itemErrors.has(dbErrorKind(error))) throw error
    return Promise.all(items.map(item => executeAlone(item, execute)))
  }
}

async function executeAlone<Item, Result>(item: Item, execute: Execute<Item, Result>): Promise<Result | Error> {
  try {
    const [result] = await execute([item])
    return result as Result | Error
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error), { cause: error })
  }
}
