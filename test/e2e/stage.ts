import postgres, { type Sql } from 'postgres'
import { afterAll, afterEach, beforeAll, beforeEach, expect } from 'vitest'
import { useFolder } from '../support/cli.ts'
import { findPrograms, type Postmaster, startPostmaster } from '../support/postmaster.ts'
import { startProxy, type TcpProxy } from '../support/proxy.ts'
import { type ServerProcess, startServer } from '../support/server.ts'
import { newAccount } from '../support/service.ts'
import { contradictions } from './check.ts'
import { type Course, expectKept, type Fault, run, summary } from './course.ts'
import { newLedger } from './ledger.ts'

/** Whether PostgreSQL can be mistreated: a server that only has an address cannot. */
export const hasStage = findPrograms() !== null

if (!hasStage) {
  process.stderr.write('\n*** SKIPPED: outages and faults of a real PostgreSQL. No initdb was found. ***\n\n')
}

/** A PostgreSQL server of a test file's own that keeps what it commits, with a proxy before it. */
export interface Stage {
  postmaster: Postmaster
  proxy: TcpProxy
  /** Past the proxy, and past the service. */
  sql: Sql
  /** Lets a fault happen to the service under load, and asserts that it keeps its promises. */
  endure(name: string, fault: Fault): Promise<Course>
}

/** Gives a test file its database, and each test a service on it: directly, or through the proxy. */
export function useStage({ proxied, settings }: { proxied: boolean; settings?: string[] }): Stage {
  const folder = useFolder()
  const stage = {} as Stage
  let server: ServerProcess
  beforeAll(async () => {
    stage.postmaster = await startPostmaster({ durable: true, settings: settings ?? [] })
    stage.proxy = await startProxy(Number(new URL(stage.postmaster.url).port))
    stage.sql = postgres(`${stage.postmaster.url}/postgres`, { max: 4, onnotice: () => {} })
  })
  afterAll(async () => {
    await stage.proxy?.close()
    await stage.sql?.end({ timeout: 1 })
    await stage.postmaster?.remove()
  })
  beforeEach(async () => {
    const url = new URL(`${stage.postmaster.url}/postgres`)
    if (proxied) url.port = String(stage.proxy.port)
    const args = ['--database-url', url.href, '--port', '0']
    server = await startServer(args, { HOME: folder.path, LOG_LEVEL: 'error' })
  })
  afterEach(() => server?.end('SIGKILL'))
  stage.endure = async (name, fault) => {
    const target = { url: server.url, ...(await newAccount(stage.sql)) }
    const ledger = newLedger()
    const course = await run(target, ledger, fault)
    process.stderr.write(summary(name, course))
    expectKept(server, course)
    expect(await contradictions(target, stage.sql, ledger)).toEqual([])
    return course
  }
  return stage
}
