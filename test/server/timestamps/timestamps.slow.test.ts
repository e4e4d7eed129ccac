import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import type { ServerResponse } from 'node:http'
import { join } from 'node:path'
import { pino } from 'pino'
import type { Sql } from 'postgres'
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { coverAll } from '../../../server/evidence/log.ts'
import { openSigner, type Signer } from '../../../server/evidence/signer.ts'
import { createMetrics } from '../../../server/metrics/metrics.ts'
import { timestampJob } from '../../../server/timestamps/job.ts'
import { isLongRun } from '../../e2e/campaign.ts'
import { type Authority, hasOpenssl, newAuthority, useAuthority } from '../../support/authority.ts'
import { readCommands, runScript } from '../../support/documented-commands.ts'
import { useService } from '../../support/service.ts'
import { newOwner, type Owner } from '../consents/records.ts'
import { verified } from '../verify/verified.ts'

/** Of every how many bytes of a timestamp one is changed. */
const step = isLongRun ? 1 : 97

describe.skipIf(!hasOpenssl)('timestamps', () => {
  const service = useService()
  const tsa = useAuthority()
  const { signal } = new AbortController()
  let [sql, signer, owner] = [] as unknown as [Sql, Signer, Owner]
  beforeAll(async () => {
    sql = service.sql
    signer = await openSigner(sql, null)
  })
  beforeEach(async () => {
    await sql`delete from timestamp_tokens`
    await sql`update checkpoints set created_at = '2020-01-01'` // those of other tests are left alone
    Object.assign(tsa, { answer: null })
    tsa.queries.length = 0
    owner = await newOwner(service)
  })

  /** Makes a checkpoint of one more record. */
  async function cover(): Promise<void> {
    await owner.create()
    await coverAll({ sql, signer })
  }

  /** A node that stamps: its job, the lines that it logs, its clock and what it counts. */
  function newNode({ url = tsa.url, caFile = tsa.authority.caFile, database = sql } = {}) {
    const lines: { msg: string; cause?: string; reason?: string }[] = []
    const logger = pino({ level: 'info' }, { write: (line: string) => void lines.push(JSON.parse(line)) })
    const counts = createMetrics()
    const node = { clock: Date.now(), lines, run: () => job.run(signal), metrics: () => counts.registry.metrics() }
    const job = timestampJob({ sql: database, tsa: { url, caFile }, logger, counts, now: () => node.clock })
    return node
  }

  const stored = () => sql<{ size: number; position: number; token: Buffer }[]>`
    select tree_size::float8 as size, position, token from timestamp_tokens where account_id = ${owner.accountId}
    order by position`
  const sizes = async () => {
    const rows = await sql<{ size: number }[]>`
      select tree_size::float8 as size from checkpoints where account_id = ${owner.accountId} order by 1`
    return rows.map(({ size }) => size)
  }
  const findings = async () => {
    const { findings } = await verified(sql, { account: owner.accountId, tsaCa: tsa.authority.caFile })
    return findings.map(({ problem, detail }) => `${problem}: ${detail}`)
  }

  it('are stored once per checkpoint, newest first, and verify, even when two nodes store them', async () => {
    for (let index = 0; index < 3; index += 1) await cover()
    const nodes = [newNode(), newNode()]
    await Promise.all(nodes.map(({ run }) => run()))
    await Promise.all(nodes.map(({ run }) => run()))
    const tokens = await stored()
    const all = await sizes()
    expect(tokens.map(({ size }) => size)).toEqual(all.toReversed())
    expect(tokens.map(({ position }) => position)).toEqual([1, 2, 3])
    const asked = tsa.queries.length
    await cover()
    await nodes[0]?.run()
    expect([await nodes[1]?.run(), tsa.queries.length]).toEqual([null, asked + 1])
    expect(await findings()).toEqual([])
    const { inspected } = await verified(sql, { account: owner.accountId, tsaCa: tsa.authority.caFile })
    expect(inspected).toMatchObject({ timestamps: 4, checkpoints: 4 })
    expect(nodes.flatMap(({ lines }) => lines)).toEqual([])
  })

  it('are stored of all checkpoints of the others when an account fails, which is asked once and named', async () => {
    const { accountId } = owner
    await cover()
    owner = await newOwner(service)
    for (let index = 0; index < 3; index += 1) await cover()
    const database = new Proxy(sql, {
      apply: (target, self, args: Parameters<Sql>) => {
        const isInsert = [args[0]].flat().join('').includes('insert into timestamp_tokens')
        if (isInsert && args.includes(accountId)) throw Object.assign(new Error('too slow'), { code: '57014' })
        return Reflect.apply(target, self, args)
      },
    })
    await expect(newNode({ database }).run()).rejects.toThrow(`the timestamps of the account ${accountId}: 57014`)
    expect((await stored()).map(({ size }) => size)).toEqual((await sizes()).toReversed())
    expect(tsa.queries).toHaveLength(4)
  })

  it('verify with the commands in the README, unless a byte is changed', async () => {
    await cover()
    await newNode().run()
    const cwd = tsa.folder
    writeFileSync(join(cwd, 'tsa-ca.pem'), readFileSync(tsa.authority.caFile))
    const commands = readCommands('openssl timestamp').replace('http://127.0.0.1:8787', service.url)
    const env = { PATH: process.env['PATH'], CONSENTCTL_API_KEY: owner.key }
    const { code, stdout } = await runScript(cwd, `set -e\n${commands}`, env)
    expect([code, stdout]).toEqual([0, expect.stringMatching(/^(Verification: OK\n)?Time stamp: .* GMT\n$/)])
    const file = join(cwd, 'checkpoint.json')
    writeFileSync(file, readFileSync(file, 'utf8').replace('"tree_size": ', '"tree_size": 1'))
    const [command = ''] = commands.split('\n').filter(line => line.startsWith('openssl ts -verify'))
    expect((await runScript(cwd, command)).code).toBe(1)
  })

  /** What an authority would answer to a query of its own for the same checkpoint. */
  async function replyTo(authority: Authority, size: number): Promise<Buffer> {
    const [row] = await sql<{ document: string }[]>`
      select document from checkpoints where account_id = ${owner.accountId} and tree_size = ${size}`
    writeFileSync(join(authority.folder, 'document'), row?.document ?? '')
    const args = ['ts', '-query', '-sha256', '-cert', '-data', 'document', '-out', 'asked']
    expect(spawnSync('openssl', args, { cwd: authority.folder }).status).toBe(0)
    return authority.reply(readFileSync(join(authority.folder, 'asked')))
  }

  describe('when the authority is faulty', () => {
    const untrusted = 'the timestamp is not by a trusted authority'
    const sends = (make: (query: Buffer) => Buffer) => (query: Buffer, response: ServerResponse) =>
      void response.writeHead(200).end(make(query))
    const another = (name: string, days?: number) => newAuthority(join(tsa.folder, name), { root: tsa.authority, days })
    const otherDigest = (query: Buffer) => {
      const other = Buffer.from(query)
      const digest = other.indexOf(Buffer.of(4, 32)) + 2
      other.writeUInt8(other.readUInt8(digest) ^ 1, digest)
      return other
    }
    let replayed: Buffer
    let node: ReturnType<typeof newNode>
    beforeEach(async () => {
      await cover()
      node = newNode()
    })

    it.each<[string, (query: Buffer, response: ServerResponse) => void, reason: string, cause: string]>([
      ['another root', sends(query => newAuthority(join(tsa.folder, 'other')).reply(query)), 'invalid', untrusted],
      [
        'a certificate that has expired',
        sends(query => another('expired', -1).reply(query)),
        ...(['invalid', `${untrusted}: certificate has expired`] as const),
      ],
      ['a token of before', sends(() => replayed), 'invalid', 'the timestamp answers another query'],
      [
        'the timestamp of something else',
        sends(query => tsa.authority.reply(otherDigest(query))),
        ...(['invalid', 'the timestamp is of something else'] as const),
      ],
      ['a rejection', sends(() => Buffer.from('3005300302010200', 'hex')), 'invalid', 'the timestamp is unreadable'],
      ['garbage', sends(() => Buffer.from('<html>')), 'invalid', 'the timestamp is unreadable'],
      ['nothing', sends(() => Buffer.alloc(0)), 'invalid', 'the timestamp is unreadable'],
      ['10 MB', sends(() => Buffer.alloc(10_000_000)), 'status', 'the answer is larger than 65536 bytes'],
      ['an error', (_, response) => void response.writeHead(500).end('no'), 'status', 'the authority answered 500'],
      [
        'a redirect',
        (_, response) => void response.writeHead(302, { location: tsa.url }).end(),
        ...(['status', 'the authority answered 302'] as const),
      ],
      ['a broken connection', (_, response) => void response.socket?.destroy(), 'unreachable', 'cannot be reached'],
    ])('with %s, nothing is stored, and the failure is counted and logged', async (_, answer, reason, cause) => {
      replayed = await replyTo(tsa.authority, (await sizes())[0] ?? 0)
      tsa.answer = answer
      expect(await node.run()).toBeNull()
      expect(await stored()).toEqual([])
      const msg = 'timestamps fail'
      expect(node.lines).toEqual([expect.objectContaining({ reason, cause: expect.stringContaining(cause), msg })])
      expect(await node.metrics()).toContain(`consentctl_timestamp_failures_total{reason="${reason}"} 1`)
    })

    it('is asked less and less often, with one log line, and stamps all checkpoints once it recovers', async () => {
      tsa.answer = (_, response) => void response.writeHead(503).end()
      const times: number[] = []
      for (const end = node.clock + 7_200_000; node.clock < end; node.clock += 15_000) {
        const before = tsa.queries.length
        await node.run()
        if (tsa.queries.length > before) times.push(node.clock)
      }
      const pauses = times.slice(1).map((time, index) => (time - (times[index] ?? 0)) / 1000)
      expect(pauses.slice(0, 8)).toEqual([15, 30, 60, 120, 240, 480, 600, 600])
      await cover()
      tsa.answer = null
      node.clock += 600_000
      expect(await node.run()).toEqual({ timestamps: 2 })
      expect(node.lines.map(({ msg }) => msg)).toEqual(['timestamps fail', 'timestamps work again'])
      expect((await stored()).map(({ size }) => size)).toEqual((await sizes()).toReversed())
    })
  })

  it('block neither checkpoints nor requests when the authority is slow, and a stop aborts the request', async () => {
    await cover()
    tsa.answer = () => {}
    const stopping = new AbortController()
    const lines: string[] = []
    const logger = pino({ level: 'info' }, { write: (line: string) => void lines.push(line) })
    const { url, authority } = tsa
    const run = timestampJob({ sql, tsa: { url, caFile: authority.caFile }, logger }).run(stopping.signal)
    await expect.poll(() => tsa.queries.length, { timeout: 5000 }).toBe(1)
    await cover()
    expect(await sizes()).toHaveLength(2)
    stopping.abort()
    expect([await run, lines]).toEqual([null, []])
  })

  it('are reported by admin verify when a signed byte is changed', {
    timeout: 600_000,
  }, async () => {
    await cover()
    await newNode().run()
    const [{ token, size } = { token: Buffer.alloc(0), size: 0 }] = await stored()
    const time = await timeOf(token)
    let named = 0
    for (let at = 11; at < token.length; at += step) {
      const changed = Buffer.from(token)
      changed[at] = (token[at] ?? 0) ^ 0x55
      await sql`update timestamp_tokens set token = ${changed} where account_id = ${owner.accountId}`
      const found = await findings()
      named += found.length
      const what = `^(changed|forged): the timestamp of the checkpoint of ${size} leaves is`
      if (found.length > 0) expect(found, `byte ${at}`).toEqual([expect.stringMatching(what)])
      else expect(await timeOf(changed), `byte ${at}`).toBe(time)
    }
    expect(named).toBeGreaterThan((0.8 * token.length) / step)
  })

  /** The time that a timestamp states. */
  async function timeOf(token: Buffer): Promise<string> {
    const file = join(tsa.folder, 'token')
    writeFileSync(file, token)
    const { stdout } = spawnSync('openssl', ['ts', '-reply', '-in', file, '-text'], { encoding: 'utf8' })
    return /^Time stamp: (.*)$/m.exec(stdout)?.[1] ?? 'none'
  }

  describe('admin verify --tsa-ca', () => {
    beforeEach(async () => {
      for (let index = 0; index < 4; index += 1) await cover()
      expect(await newNode().run()).toEqual({ timestamps: 4 })
      expect(await findings()).toEqual([])
    })

    it('reports a timestamp of another checkpoint, of another authority, and of a missing checkpoint', async () => {
      const [, , size = 0] = await sizes()
      const set = (token: Buffer) => sql`
        update timestamp_tokens set token = ${token} where account_id = ${owner.accountId} and tree_size = ${size}`
      await set((await stored())[0]?.token ?? Buffer.alloc(0))
      expect(await findings()).toEqual([
        `changed: the timestamp of the checkpoint of ${size} leaves is of something else`,
      ])
      await set(await replyTo(newAuthority(join(tsa.folder, 'foreign')), size))
      expect(await findings()).toEqual([
        expect.stringContaining(
          `forged: the timestamp of the checkpoint of ${size} leaves is not by a trusted authority`,
        ),
      ])
      await sql`delete from checkpoints where account_id = ${owner.accountId} and tree_size = ${size}`
      expect(await findings()).toContain(
        `lost: the timestamp of the checkpoint of ${size} leaves: there is no such checkpoint`,
      )
    })

    it('reports missing timestamps between others, even if the service has requested new ones', async () => {
      const remove = (from: number, to: number) => sql`
        delete from timestamp_tokens where account_id = ${owner.accountId} and position between ${from} and ${to}`
      await remove(2, 2)
      expect(await findings()).toEqual(['lost: timestamp 2 of the account is missing'])
      await newNode().run()
      expect(await findings()).toEqual(['lost: timestamp 2 of the account is missing'])
      await remove(1, 1)
      expect(await findings()).toEqual(['lost: timestamps 1 to 2 of the account are missing'])
    })

    it('reports a timestamp older than its checkpoint', async () => {
      const [size = 0] = await sizes()
      const [row] = await sql<{ document: string }[]>`
        select document from checkpoints where account_id = ${owner.accountId} and tree_size = ${size}`
      const { key_id: _, signature: __, ...checkpoint } = JSON.parse(row?.document ?? '')
      const later = new Date(Date.now() + 3_600_000).toISOString()
      const document = await signer.sign({ ...checkpoint, created_at: later })
      await sql`
        update checkpoints set document = ${document}, created_at = now()
        where account_id = ${owner.accountId} and tree_size = ${size}`
      await sql`delete from timestamp_tokens where account_id = ${owner.accountId} and tree_size = ${size}`
      await newNode().run()
      expect(await findings()).toContainEqual(
        expect.stringMatching(`forged: the timestamp of the checkpoint of ${size} leaves is of .*, before ${later}`),
      )
    })
  })
})
