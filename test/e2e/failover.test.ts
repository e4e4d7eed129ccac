import postgres, { type Sql } from 'postgres'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { useFolder } from '../support/cli.ts'
import { type Postmaster, startPostmaster } from '../support/postmaster.ts'
import { type ServerProcess, startServer } from '../support/server.ts'
import { newAccount } from '../support/service.ts'
import { contradictions } from './check.ts'
import { expectKept, run, summary, unready } from './course.ts'
import { newLedger, type Target } from './ledger.ts'
import { isSuccess, until } from './probe.ts'
import { hasStage } from './stage.ts'

describe.skipIf(!hasStage)('a primary and a standby that it waits for', () => {
  const folder = useFolder()
  let primary: Postmaster
  let standby: Postmaster
  let [first, second]: Sql[] = []
  let server: ServerProcess
  let target: Target

  beforeAll(async () => {
    primary = await startPostmaster({ durable: true })
    standby = await startPostmaster({ durable: true, standbyOf: primary })
    first = open(primary)
    second = open(standby)
    await first`alter system set synchronous_standby_names = '*'`
    await first`select pg_reload_conf()`
    const hosts = [standby, primary].map(({ url }) => new URL(url).host).join(',')
    const args = ['--database-url', `postgres://postgres@${hosts}/postgres`, '--port', '0']
    server = await startServer(args, { HOME: folder.path, LOG_LEVEL: 'error' })
    target = { url: server.url, ...(await newAccount(first)) }
  })
  afterAll(async () => {
    await server?.end('SIGKILL')
    await Promise.all([first, second].map(sql => sql?.end({ timeout: 1 })))
    await Promise.all([primary, standby].map(one => one?.remove()))
  })

  it('the service goes on with the standby once that is promoted, and nothing is lost', async () => {
    const ledger = newLedger()
    let [goneAt, promotingAt] = [0, 0]
    const course = await run(target, ledger, {
      lose: async () => {
        await primary.end('SIGKILL')
        goneAt = performance.now()
      },
      ms: 1500,
      restore: async () => {
        promotingAt = performance.now()
        await (second as Sql)`select pg_promote(true, 60)`
      },
      recovery: 3000,
    })
    process.stderr.write(summary('the primary is killed', course))
    expectKept(server, course)
    expect(unready(course)).toBeLessThan(2000)
    const alone = [...course.exchanges, ...course.served, ...course.ready].filter(
      ({ at }) => at > goneAt && at < promotingAt,
    )
    expect(alone.length).toBeGreaterThan(20)
    const ended = alone.filter(({ at, ms }) => at + ms < promotingAt)
    expect(ended.filter(({ status }) => isSuccess(status))).toEqual([])
    expect(until(course.ready, course.returnedAt, isSuccess)).toBeLessThan(3000)
    expect(await contradictions(target, second as Sql, ledger)).toEqual([])
  })
})

function open({ url }: Postmaster): Sql {
  return postgres(`${url}/postgres`, { max: 4, onnotice: () => {} })
}
