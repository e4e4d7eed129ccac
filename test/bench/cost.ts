import type { Bench } from './bench.ts'
import { load, type Shot } from './load.ts'
import { median, type Row } from './numbers.ts'
import { cpuOf, type Served } from './processes.ts'
import type { Stage } from './stage.ts'

const connections = 32

/** CPU time of a create, a get and a list, of the process and of PostgreSQL, against the bare ceiling. */
export async function* cost({ stage: open, pairs, isQuick }: Bench): AsyncGenerator<Row> {
  const stage = await open()
  const milliseconds = isQuick ? 1000 : 2500
  for (const { name, next, least } of await shotsOf(stage)) {
    const turn = async (side: Served) => {
      const before = { node: side.cpu(), postgres: await postgresCpu(stage) }
      const { answers } = await load(side.url, stage.headers, next, { connections, milliseconds })
      const each = (from: number, to: number) => ((to - from) * 1000) / answers
      return { node: each(before.node, side.cpu()), postgres: each(before.postgres, await postgresCpu(stage)) }
    }
    const [ours, bare]: [Awaited<ReturnType<typeof turn>>[], Awaited<ReturnType<typeof turn>>[]] = [[], []]
    await turn(stage.ours)
    await turn(stage.ceiling)
    for (let pair = 0; pair < pairs; pair += 1) {
      ours.push(await turn(stage.ours))
      bare.push(await turn(stage.ceiling))
    }
    const sums = (sides: typeof ours) => sides.map(({ node, postgres }) => node + postgres)
    const both = (sides: typeof ours) =>
      `${median(sides.map(({ node }) => node)).toFixed(0)} + ${median(sides.map(({ postgres }) => postgres)).toFixed(0)}`
    const notes = `${both(ours)} of ${both(bare)}`
    yield {
      group: 'cost',
      name,
      unit: 'µs',
      ours: sums(ours),
      bare: sums(bare),
      bound: { most: Number((1 / least).toFixed(2)) },
      notes,
    }
  }
  const peak = stage.ours.peak()
  const peaks = { ours: [peak], bare: [stage.ceiling.peak()], notes: 'at most 200', isOver: peak > 200 }
  yield { group: 'cost', name: 'memory under load', unit: 'MiB', ...peaks }
}

/** Milliseconds of all backends so far. */
async function postgresCpu({ sql }: Stage): Promise<number> {
  const backends = await sql<{ pid: number }[]>`
    select pid from pg_stat_activity where backend_type = 'client backend' and pid <> pg_backend_pid()`
  return backends.reduce((all, { pid }) => all + cpuOf(pid), 0)
}

/** What is asked for: the records of a day's work, and those that creates have put on top of the list. */
async function shotsOf({ sql, account, records }: Stage) {
  const ids = await sql<{ id: string }[]>`
    select id from consents tablesample system (1) where account_id = ${account.account_id} and deleted_at is null
    order by random() limit 5000`
  let count = records
  const create = (): Shot => {
    count += 1
    const preferences = { marketing: true, analytics: false, personalisation: count % 2 === 0 }
    const draft = {
      site_id: account.site.id,
      subject_id: `user-${count}@example.com`,
      accepted: true,
      preferences,
    }
    return { method: 'POST', path: '/api/v1/consents', body: JSON.stringify(draft) }
  }
  const get = (): Shot => {
    count += 1
    return { method: 'GET', path: `/api/v1/consents/${ids[count % ids.length]?.id}` }
  }
  const list = (limit: number) => (): Shot => ({ method: 'GET', path: `/api/v1/consents?limit=${limit}` })
  return [
    { name: 'create', next: create, least: 1.15 },
    { name: 'get', next: get, least: 1.85 },
    { name: 'list of 50', next: list(50), least: 1 },
    { name: 'list of 100', next: list(100), least: 1.1 },
  ]
}
