import { Client } from 'undici'
import type { Bench } from './bench.ts'
import { ask } from './load.ts'
import { alternate, median, type Row } from './numbers.ts'
import type { Seeded } from './seed.ts'
import type { Stage } from './stage.ts'

type Query = Record<string, string>

/** Number of records of a page if the filter leaves this many. */
const full = 100

/**
 * How long a page takes, as a ratio to page 1 without a filter and of as many records: the page after a million records,
 * that of each filter, and that of each pair of them. One request at a time, for what counts is the way to the rows, and
 * one of each side by turns.
 */
export async function* pages({ stage: open, pairs, isQuick }: Bench): AsyncGenerator<Row> {
  const stage = await open()
  const client = new Client(stage.ours.url)
  const get = async (query: Query) => {
    const path = `/api/v1/consents?${new URLSearchParams(query)}`
    const page = await ask(client, stage.headers, { method: 'GET', path })
    return JSON.parse(page.toString()) as { data: { id: string }[] }
  }
  const requests = isQuick ? 8 : 50
  const latency = (query: Query) => async () => {
    const path = `/api/v1/consents?${new URLSearchParams(query)}`
    const start = performance.now()
    await ask(client, stage.headers, { method: 'GET', path })
    return performance.now() - start
  }
  const pair = async (ours: Query, bare: Query) => {
    const times = await alternate(requests, latency(ours), latency(bare))
    return { ours: median(times.ours), bare: median(times.bare) }
  }
  try {
    for (const { name, query, most } of await casesOf(stage)) {
      const { length } = (await get({ limit: String(full), ...query })).data
      const bare = { limit: String(Math.max(1, length)) }
      const ours = { limit: String(full), ...query }
      await pair(ours, bare)
      const times: { ours: number; bare: number }[] = []
      while (times.length < pairs) times.push(await pair(ours, bare))
      const both = { ours: times.map(time => time.ours), bare: times.map(time => time.bare) }
      yield { group: 'pages', name, unit: 'ms', ...both, bound: { most }, notes: `${length} records` }
    }
  } finally {
    await client.close()
  }
}

interface Case {
  readonly name: string
  readonly query: Query
  readonly most: number
}

async function casesOf(stage: Stage): Promise<Case[]> {
  const [middle, end] = [await instantAt(stage, 0.5), await instantAt(stage, 0.51)]
  const last = await instantAt(stage, 200 / stage.records)
  const filters = filtersOf(stage.seeded, middle, end)
  const most = (...names: string[]) => (names.some(name => name.startsWith('refused')) ? 2 : 1.15)
  const single = Object.entries(filters).map(([name, query]) => ({ name, query, most: most(name) }))
  const isApart = (one: Query, other: Query) => Object.keys(one).every(key => !(key in other))
  const pairs = single.flatMap((one, index) =>
    single
      .slice(index + 1)
      .filter(other => isApart(one.query, other.query))
      .map(other => ({
        name: `${one.name}, ${other.name}`,
        query: { ...one.query, ...other.query },
        most: most(one.name, other.name),
      })),
  )
  const far = { name: 'after all but 200 records', query: { to: last, include_deleted: 'true' }, most: 1.15 }
  return [far, ...single, ...pairs]
}

/** A filter of each kind, by its name; of some kinds a common and a rare one. */
function filtersOf(seeded: Seeded, from: string, to: string): Record<string, Query> {
  return {
    'half of all: a site': { site_id: seeded.site },
    'one of 5,000: a site': { site_id: seeded.smallSite },
    'nine of ten deleted: a site': { site_id: seeded.witheredSite },
    'one of 100: a subject': { subject_id: seeded.busySubject },
    'one of 300,000: a subject': { subject_id: seeded.subject },
    'two of five: a label': { consent_id: seeded.commonLabel },
    'one of 100: a label': { consent_id: seeded.label },
    accepted: { accepted: 'true' },
    'refused (one of 5,000)': { accepted: 'false' },
    'in the middle': { from, to },
    'with deleted ones': { include_deleted: 'true' },
  }
}

/** When the record was made that so large a part of all others is older than. */
async function instantAt({ sql, account, records }: Stage, part: number): Promise<string> {
  const [row] = await sql<{ created_at: Date }[]>`
    select created_at from consents where account_id = ${account.account_id}
    order by id offset ${Math.round(part * records)} limit 1`
  return row?.created_at.toISOString() ?? ''
}
