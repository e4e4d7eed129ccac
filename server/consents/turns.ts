import { setImmediate as turn } from 'node:timers/promises'

/** Items between which others have their turn: to check and to hash a whole batch takes long. */
const slice = 100

/** What the work makes of each item, in their order. */
export async function inTurns<Item, Result>(
  items: readonly Item[],
  work: (item: Item) => Result,
): Promise<Result[]> {
  const results: Result[] = []
  for (const item of items) {
    if (results.length % slice === slice - 1) await turn()
    results.push(work(item))
  }
  return results
}
