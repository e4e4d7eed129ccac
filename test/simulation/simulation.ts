// Runs one schedule: the same seed gives the same schedule, event by event.
import { Importer, Reader, Writer } from './clients.ts'
import { Follower } from './follower.ts'
import { current, Random, Scheduler } from './scheduler.ts'
import { drawClimate, World } from './world.ts'

export interface Result {
  readonly seed: number
  /** Of everything that happened, in order. */
  readonly digest: string
  readonly problems: readonly string[]
  readonly events: number
  readonly simulatedMs: number
  readonly log: readonly string[]
}

/** All work is done, the storm included, long before. */
const limitMs = 60 * 60_000

export async function simulate(seed: number, isTraced: boolean): Promise<Result> {
  const climate = drawClimate(new Random(seed))
  const scheduler = new Scheduler(seed, climate.startedAt, isTraced)
  scheduler.trace(JSON.stringify(climate))
  const onCrash = (error: unknown) =>
    scheduler.fail(`${scheduler.process.name} would crash: ${(error as Error)?.stack}`)
  process.on('uncaughtException', onCrash).on('unhandledRejection', onCrash)
  try {
    await run(new World(climate))
  } finally {
    process.off('uncaughtException', onCrash).off('unhandledRejection', onCrash)
  }
  const { digest, problems, events, now: simulatedMs, log } = scheduler
  return { seed, digest, problems, events, simulatedMs, log: log ?? [] }
}

async function run(world: World): Promise<void> {
  const scheduler = current()
  const { random, process } = scheduler
  const { writers, importers, readers } = drawClients(world, random)
  let isOver = false
  const work = async () => {
    const followers = world.climate.followers.map(name => new Follower(world, name).start())
    await Promise.all([world.storm(), ...[...writers, ...importers, ...readers].map(client => client.run())])
    await scheduler.sleep(30_000, 'calm')
    if (random.chance(0.1)) await new Reader(world, 'last').run()
    await Promise.all(followers.map(end => end()))
    await Promise.all([...world.nodes].map(node => node.process.isAlive && stop(node)))
    isOver = true
  }
  const stop = (node: World['nodes'][number]) =>
    new Promise<void>(resolve => {
      const end = () => void scheduler.after(0, 'stopped', resolve, process)
      scheduler.after(0, 'stops', () => void node.stop().then(end), node.process)
    })
  work().catch(error => scheduler.fail(`the world ended: ${(error as Error).stack}`))
  if (!(await scheduler.run(() => isOver || scheduler.problems.length > 0, limitMs)))
    scheduler.fail('something waits for ever')
  if (scheduler.problems.length > 0) return
  for (const client of [...writers, ...importers]) client.check()
  world.check(importers.length === 0 && world.climate.followers.length === 0)
}

/** Few clients each, because many small schedules find more than a few large ones; but some need a crowd. */
function drawClients(world: World, random: Random) {
  const theme = random.chance(0.05) ? 'crowd' : random.pick(['writers', 'import', 'readers'])
  const [writers, importers, readers] = {
    writers: [random.chance(0.3) ? 2 : 1, 0, 0],
    import: [0, 1, 0],
    readers: [random.chance(0.3) ? 1 : 0, 0, 1],
    crowd: [3, random.int(0, 1), 1],
  }[theme] as [number, number, number]
  if (readers > 0) world.model.fill(random.int(0, 11), world.siteId)
  const many = <Client>(count: number, make: (index: number) => Client) =>
    Array.from({ length: count }, (_, index) => make(index + 1))
  return {
    writers: many(writers, index => new Writer(world, `writer ${index}`)),
    importers: many(importers, index => new Importer(world, `import ${index}`)),
    readers: many(readers, index => new Reader(world, `reader ${index}`)),
  }
}
