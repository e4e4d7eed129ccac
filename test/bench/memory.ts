import type { Bench } from './bench.ts'
import { listing, rangeOf } from './export.ts'
import { writeLines } from './import.ts'
import type { Row } from './numbers.ts'
import { runOurs } from './runs.ts'

/** How much memory the command line takes at most, for few records and for many, and what the server took in all of it. */
export async function* memory({ stage: open, isQuick }: Bench): AsyncGenerator<Row> {
  const stage = await open()
  const [few, many] = [isQuick ? 1000 : 10_000, isQuick ? 40_000 : 1_000_000]
  const [all, some] = [await rangeOf(stage, many), await rangeOf(stage, few)]
  const large = await runOurs(stage, listing(all), all)
  const small = await runOurs(stage, listing(some), some)
  const listed = { ours: [large.peak], bare: [small.peak] }
  const name = (what: string, one: number, other: number) => `${what}: ${one} records, and ${other}`
  yield {
    group: 'memory',
    name: name('list', all.lines, some.lines),
    unit: 'MiB',
    ...listed,
    ...within(large.peak, 100),
  }
  const lines = isQuick ? 2000 : 20_000
  const create = async (count: number) => {
    const args = ['create', '--file', writeLines(stage, count), '-o', 'ndjson']
    return (await runOurs(stage, args, { lines: count })).peak
  }
  const [more, less] = [await create(lines), await create(lines / 10)]
  const created = { ours: [more], bare: [less] }
  yield {
    group: 'memory',
    name: name('create', lines, lines / 10),
    unit: 'MiB',
    ...created,
    ...within(more, 100),
  }
  const [server, ceiling] = [stage.ours.peak(), stage.ceiling.peak()]
  yield {
    group: 'memory',
    name: 'the server, until now',
    unit: 'MiB',
    ours: [server],
    bare: [ceiling],
    ...within(server, 200),
  }
}

function within(peak: number, most: number): Pick<Row, 'notes' | 'isOver'> {
  return { notes: `at most ${most}`, isOver: peak > most }
}
