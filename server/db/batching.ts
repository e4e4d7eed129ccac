import { type Trouble, troubleOf } from './errors.ts'

interface Asked<Item, Result> {
  readonly item: Item
  readonly resolve: (result: Result) => void
  readonly reject: (error: unknown) => void
}

type Work<Item, Result> = (items: readonly Item[]) => Promise<readonly Result[]>

/** Errors that may be the fault of one item: the others of its group must not fail with it. */
const ofOne = new Set<Trouble | null>([null, 'unstorable', 'conflict', 'missing'])

/** Milliseconds after which nobody waits for an item any more. */
const patience = 5000

/**
 * Does together what is asked for one by one: what comes in one turn of the event loop, which is all that the sockets had
 * when it looked. Nothing waits for more to come, and one statement takes the place of many.
 */
export class Together<Item, Result> {
  readonly #groups = new Map<string, Asked<Item, Result>[]>()

  /** What the work makes of an item, with the others of its name; it resolves to a result for each item, in their order. */
  ask(name: string, item: Item, work: Work<Item, Result>): Promise<Result> {
    return new Promise((resolve, reject) => {
      const asked = { item, resolve, reject }
      const group = this.#groups.get(name)
      if (group) return void group.push(asked)
      const begun = [asked]
      this.#groups.set(name, begun)
      setImmediate(() => {
        this.#groups.delete(name)
        run(begun, work)
      })
    })
  }
}

async function run<Item, Result>(group: readonly Asked<Item, Result>[], work: Work<Item, Result>) {
  const start = performance.now()
  try {
    const results = await work(group.map(({ item }) => item))
    for (const [index, { resolve }] of group.entries()) resolve(results[index] as Result)
  } catch (error) {
    const isInTime = performance.now() - start < patience
    if (group.length > 1 && isInTime && ofOne.has(troubleOf(error))) for (const one of group) run([one], work)
    else for (const { reject } of group) reject(error)
  }
}
