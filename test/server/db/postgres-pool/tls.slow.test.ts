import { execFileSync, spawnSync } from 'node:child_process'
import { chownSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { Sql } from 'postgres'
import { afterAll, afterEach, beforeAll, describe, expect, inject, it } from 'vitest'
import { connect } from '../../../../server/db/connect.ts'
import { driverOptions, prepareDriver } from '../../../../server/db/postgres-pool/driver.ts'
import { useFolder } from '../../../support/cli.ts'
import { findPrograms, type PostgresServer, startPostgres, unprivileged } from '../../../support/postgres.ts'

const cluster = inject('clusterUrl')
const folder = useFolder()
const pools: Sql[] = []
afterEach(async () => {
  await Promise.all(pools.splice(0).map(sql => sql.end({ timeout: 1 })))
})

const open = (url: string) => {
  const sql = connect({ target: { url }, max: 2 })
  pools.push(sql)
  return sql
}
const isEncrypted = async (sql: Sql) =>
  (await sql<{ ssl: boolean }[]>`select ssl from pg_stat_ssl where pid = pg_backend_pid()`)[0]?.ssl
const failure = (sql: Sql) => isEncrypted(sql).catch((error: { code: string }) => error.code)

/** Returns a certificate for localhost, signed by itself, and its key. */
function makeCertificate(): { cert: string; key: string } {
  const [cert, key] = ['cert.pem', 'key.pem'].map(name => join(folder.path, name)) as [string, string]
  const names = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost']
  const kind = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2']
  execFileSync('openssl', ['req', '-x509', ...kind, ...names, '-keyout', key, '-out', cert], { stdio: 'ignore' })
  return { cert, key }
}

const canRun = cluster && findPrograms() && !spawnSync('openssl', ['version']).error
if (!canRun) process.stderr.write('\n*** SKIPPED: TLS to the database. PostgreSQL or openssl was not found. ***\n\n')

describe.runIf(canRun)('connections over TLS', () => {
  let server: PostgresServer
  let files: { cert: string; key: string }
  let url: string
  beforeAll(async () => {
    files = makeCertificate()
    const user = unprivileged()
    for (const path of [folder.path, files.cert, files.key]) if (user) chownSync(path, user.uid, user.gid)
    const settings = ['ssl=on', `ssl_cert_file=${files.cert}`, `ssl_key_file=${files.key}`]
    server = await startPostgres({ durable: false, settings })
    url = `${server.url.replace('127.0.0.1', 'localhost')}/postgres`
  })
  afterAll(() => server?.remove())

  it.each(['require', 'prefer'])('sslmode=%s encrypts, and trusts any certificate', async mode => {
    const sql = open(`${url}?sslmode=${mode}`)
    expect(await isEncrypted(sql)).toBe(true)
    const rows = await sql`select repeat('x', 100000) as text from generate_series(1, 50)`
    expect([rows.length, rows.at(-1)?.['text'].length]).toEqual([50, 100_000])
    expect((await sql`select ${'y'.repeat(500_000)} as text`)[0]?.['text']).toHaveLength(500_000)
    const ended = sql.end().then(() => 'ended')
    expect(await Promise.race([ended, delay(1000, 'late')])).toBe('ended')
  })

  it('sslmode=disable, or none on this machine, does not encrypt', async () => {
    expect([await isEncrypted(open(`${url}?sslmode=disable`)), await isEncrypted(open(url))]).toEqual([false, false])
  })

  it.each(['verify-full', 'verify-ca'])('sslmode=%s rejects a certificate without a trusted signature', async mode => {
    expect(await failure(open(`${url}?sslmode=${mode}`))).toBe('DEPTH_ZERO_SELF_SIGNED_CERT')
  })

  it('verifies the name in a trusted certificate', async () => {
    const ca = readFileSync(files.cert, 'utf8')
    const openTrusting = (to: string, ssl: object) => {
      const open = prepareDriver(to, { ...driverOptions, max: 1, ssl })
      const sql = open({ onclose: () => {}, prepare: true })
      pools.push(sql)
      return sql
    }
    expect(await isEncrypted(openTrusting(url, { ca }))).toBe(true)
    expect(await failure(openTrusting(url, { ca, servername: 'db.example.com' }))).toBe('ERR_TLS_CERT_ALTNAME_INVALID')
  })

  it('when the server has no TLS, prefer connects in plain text and require fails', async () => {
    expect(await isEncrypted(open(`${cluster}/postgres?sslmode=prefer`))).toBe(false)
    expect(await failure(open(`${cluster}/postgres?sslmode=require`))).toEqual(expect.any(String))
  })

  it.each(['disable', 'require'])('sslmode=%s reports lost connections, and opens new ones', async mode => {
    const sql = open(`${url}?sslmode=${mode}`)
    const other = open(url)
    for (let round = 0; round < 3; round += 1) {
      const running = [1, 2].map(() => sql`select pg_sleep(10)`.catch((error: { code: string }) => error.code))
      const sleeping = () => other`
        select pid from pg_stat_activity where query like '%pg_sleep%' and state = 'active' and pid <> pg_backend_pid()`
      await expect.poll(async () => (await sleeping()).length).toBe(2)
      for (const { pid } of await sleeping()) await other`select pg_terminate_backend(${pid})`
      expect(await Promise.all(running)).toEqual(['CONNECTION_CLOSED', 'CONNECTION_CLOSED'])
      expect(await isEncrypted(sql)).toBe(mode === 'require')
    }
  })
})
