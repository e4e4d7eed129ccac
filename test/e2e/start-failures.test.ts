import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import postgres from 'postgres'
import { describe, expect, inject, it } from 'vitest'
import { binary, quote, useFolder } from '../support/cli.ts'
import { listen } from '../support/net.ts'
import { newDatabase } from './campaign.ts'

const folder = useFolder()

/** Runs `serve` until it ends, or until it serves. SIGTERM follows `endAfter` on stderr. */
async function serve(env: Record<string, string>, { limit = '', endAfter = /^$/ } = {}) {
  const command = `${limit} exec ${[process.execPath, binary, 'serve', '--port', '0'].map(quote).join(' ')}`
  const child = spawn('bash', ['-c', command], {
    env: { PATH: process.env['PATH'], HOME: folder.path, LOG_LEVEL: 'silent', ...env },
  })
  child.stdout.once('data', () => child.kill('SIGKILL'))
  child.stderr.on('data', data => endAfter.test(String(data)) && child.kill('SIGTERM'))
  const [stderr, [code]] = await Promise.all([text(child.stderr), once(child, 'exit')])
  return { code: code as number | null, stderr }
}

/** A proxy that loses every connection when the server has sent `count` messages in all. */
async function startCutter(target: number, count: number) {
  const clients = new Set<Socket>()
  let sent = 0
  const proxy = createServer({ noDelay: true }, client => {
    if (sent >= count) return void client.resetAndDestroy()
    const server = connect({ port: target, host: '127.0.0.1', noDelay: true })
    clients.add(client)
    let rest: Buffer = Buffer.alloc(0)
    server.on('data', data => {
      rest = Buffer.concat([rest, data])
      for (
        let size = 1;
        rest.length > 4 && rest.length > rest.readUInt32BE(1) && sent < count;
        rest = rest.subarray(size)
      ) {
        size = rest.readUInt32BE(1) + 1
        sent += 1
        client.write(rest.subarray(0, size))
      }
      if (sent >= count) for (const each of clients) each.resetAndDestroy()
    })
    client.on('data', data => server.write(data))
    for (const socket of [client, server]) socket.on('error', () => {})
    client.on('close', () => server.destroy())
    server.on('close', () => client.destroy())
  })
  const { port } = new URL(await listen(proxy))
  return { port, countSent: () => sent, close: () => proxy.close() }
}

if (!inject('clusterUrl'))
  process.stderr.write('\n*** SKIPPED: a database lost at a start. No PostgreSQL found. ***\n\n')

describe.skipIf(!inject('clusterUrl')).concurrent('first start when the database connection is lost', () => {
  // A start gets about 280 messages. Most of them answer migrations.
  it.for([1, 20, 38, 45, 66, 108, 150, 192, 255])('after %i messages exits with 7', async (count, { expect }) => {
    const url = new URL(await newDatabase(`consentctl_test_start_${count}`))
    const cutter = await startCutter(Number(url.port), count)
    url.port = cutter.port
    const { code, stderr } = await serve({ DATABASE_URL: url.href })
    cutter.close()
    expect(cutter.countSent()).toBe(count)
    expect(stderr).toMatch(/^error: the database cannot be used: .* \(unavailable\)\ntry: check that PostgreSQL runs/)
    expect(code).toBe(7)
  })
})

it.skipIf(!inject('clusterUrl'))('when it waits for another node’s migration, exits at SIGTERM', async () => {
  const url = await newDatabase('consentctl_test_start_wait')
  const sql = postgres(url, { max: 1, onnotice: () => {} })
  await sql`select pg_advisory_lock(7266328)`
  const start = performance.now()
  const ended = await serve({ DATABASE_URL: url }, { endAfter: /waiting/ })
  expect(ended).toEqual({ code: 0, stderr: expect.stringMatching(/^waiting for a lock on the tables, [^\n]* …\n$/) })
  expect(performance.now() - start).toBeLessThan(6000)
  expect(await sql`select tablename from pg_tables where schemaname = 'public'`).toEqual([])
  await sql.end()
})

describe('when the open-file limit is too low', () => {
  it.each([64, 96])('when it is %i, the error states the limit and the fix', async limit => {
    const { code, stderr } = await serve({}, { limit: `ulimit -n ${limit};` })
    expect(stderr).toMatch(/^error: the limit of open files is reached \(open_files\)\n/m)
    expect(stderr).toContain('try: raise the limit: ulimit -n 1024, or LimitNOFILE=')
    expect(code).toBe(1)
  })
})
