import type { Bench } from './bench.ts'
import { load, type Shot } from './load.ts'
import type { Row } from './numbers.ts'
import type { Served } from './processes.ts'
import type { Stage } from './stage.ts'

const connections = 20

/** Create, get and list against the bare ceiling: answers a second, and the CPU time that each takes in its process. */
export async function* server({ stage: open, pairs, isQuick }: Bench): AsyncGenerator<Row> {
  const stage = await open()
  const milliseconds = isQuick ? 1000 : 2500
  for (const { name, next, least } of await shotsOf(stage)) {
    const turn = async (side: Served) => {
      const before = side.cpu()
      const { answers, seconds } = await load(side.url, stage.headers, next, { connections, milliseconds })
      return { rate: answers / seconds, cpu: ((side.cpu() - before) * 1000) / answers }
    }
    const [ours, bare]: [Awaited<ReturnType<typeof turn>>[], Awaited<ReturnType<typeof turn>>[]] = [[], []]
    await turn(stage.ours)
    await turn(stage.ceiling)
    for (let pair = 0; pair < pairs; pair += 1) {
      ours.push(await turn(stage.ours))
      bare.push(await turn(stage.ceiling))
    }
    const of = (key: 'rate' | 'cpu') => ({
      ours: ours.map(side => side[key]),
      bare: bare.map(side => side[key]),
    })
    yield { group: 'server', name, unit: '/s', ...of('rate'), bound: { least } }
    yield { group: 'server', name: `${name}, CPU`, unit: 'µs', ...of('cpu') }
  }
  const peak = stage.ours.peak()
  const peaks = { ours: [peak], bare: [stage.ceiling.peak()], notes: 'at most 200', isOver: peak > 200 }
  yield { group: 'server', name: 'memory under load', unit: 'MiB', ...peaks }
}

/** What is asked for: the records of a day's work, and those that creates have put on top of the list. */
async function shotsOf({ sql, account, records }: Stage) {
  const ids = await sql<{ id: string }[]>`
    select id from consents tablesample system (1) where account_id = ${account.account_id} and deleted_at is null
    order by random() limit 5000`
  let count = records
  const create = (more: object) => (): Shot => {
    count += 1
    const preferences = { marketing: true, analytics: false, personalisation: count % 2 === 0 }
    const draft = {
      site_id: account.site.id,
      subject_id: `user-${count}@example.com`,
      accepted: true,
      preferences,
    }
    return { method: 'POST', path: '/api/v1/consents', body: JSON.stringify({ ...draft, ...more }) }
  }
  const get = (): Shot => {
    count += 1
    return { method: 'GET', path: `/api/v1/consents/${ids[count % ids.length]?.id}` }
  }
  const list = (limit: number) => (): Shot => ({ method: 'GET', path: `/api/v1/consents?limit=${limit}` })
  return [
    { name: 'create', next: create({}), least: 0.8 },
    { name: 'create with policy_version', next: create({ policy_version: 1 }), least: 0.8 },
    { name: 'get', next: get, least: 0.8 },
    { name: 'list of 50', next: list(50), least: 1 },
    { name: 'list of 100', next: list(100), least: 1 },
  ]
}
