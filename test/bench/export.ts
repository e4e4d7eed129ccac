import { join } from 'node:path'
import { startFaultProxy } from '../support/fault-proxy.ts'
import type { Bench } from './bench.ts'
import { alternate, type Row } from './numbers.ts'
import { runProgram } from './processes.ts'
import { runBare, runOurs } from './runs.ts'
import type { Stage } from './stage.ts'

/** Milliseconds of a round trip to an instance that is far away. */
const far = 40

/** An export against a bare loop over the pages, here and far away, and against PostgreSQL's own way out. */
export async function* exports({ stage: open, pairs, size, bundles }: Bench): AsyncGenerator<Row> {
  const stage = await open()
  const bundle = join(bundles, 'bare-list.js')
  const { url } = stage.ours
  const near = await rangeOf(stage, size.exported)
  const bare = async (range: Range, at: string) => {
    const filters = new URLSearchParams({ from: range.from, to: range.to }).toString()
    return (await runBare(stage, bundle, [at, stage.account.api_key, filters], range)).milliseconds
  }
  const ours = async (range: Range, at: string) => (await runOurs(stage, listing(range), range, at)).milliseconds
  const speed = (range: Range, milliseconds: number) => (range.lines * 1000) / milliseconds
  const measure = async (range: Range, at: string) =>
    alternate(
      pairs,
      async () => speed(range, await ours(range, at)),
      async () => speed(range, await bare(range, at)),
    )
  yield {
    group: 'export',
    name: `${near.lines} records`,
    unit: '/s',
    ...(await measure(near, url)),
    bound: { least: 1 },
  }
  const copied = await alternate(
    Math.min(pairs, 2),
    async () => speed(near, await ours(near, url)),
    async () => speed(near, await copy(stage, near)),
  )
  yield { group: 'export', name: `${near.lines} records, to psql \\copy`, unit: '/s', ...copied }
  const proxy = await startFaultProxy(Number(new URL(url).port))
  proxy.delay(far / 2)
  try {
    const range = await rangeOf(stage, size.far)
    const times = await measure(range, `http://127.0.0.1:${proxy.port}`)
    const name = `${range.lines} records, ${far} ms away`
    yield { group: 'export', name, unit: '/s', ...times, bound: { least: 15 } }
  } finally {
    await proxy.close()
  }
}

/** A time in which this many live records were made. */
interface Range {
  readonly from: string
  readonly to: string
  readonly lines: number
}

/** The arguments of an export. */
function listing({ from, to }: Range): string[] {
  return ['list', '--all', '-o', 'ndjson', '--from', from, '--to', to]
}

/** The newest live records of the seed, about this many. */
async function rangeOf({ sql, account, records }: Stage, count: number): Promise<Range> {
  const [row] = await sql<{ first: Date; last: Date; lines: number }[]>`
    select min(created_at) as first, max(created_at) as last, count(*)::integer as lines from (
      select created_at from consents
      where account_id = ${account.account_id} and deleted_at is null
        and created_at < (select created_at from consents where account_id = ${account.account_id}
          order by id offset ${Math.round(records * 0.9)} limit 1)
      order by id desc limit ${count}) as newest`
  if (!row) throw new Error('there are no records')
  return { from: row.first.toISOString(), to: row.last.toISOString(), lines: row.lines }
}

async function copy(stage: Stage, { from, to }: Range): Promise<number> {
  const query = `select id, site_id, consent_id, subject_id, country, region, user_agent, accepted, preferences,
    policy_version, created_at, updated_at, deleted_at from consents
    where account_id = '${stage.account.account_id}' and deleted_at is null and created_at between '${from}' and '${to}'
    order by id desc`.replace(/\s+/g, ' ')
  const file = join(stage.folder, 'copied')
  const command = `\\copy (${query}) to '${file}' csv`
  return (await runProgram(['psql', '-qX', stage.databaseUrl, '-c', command], { env: stage.env })).milliseconds
}
