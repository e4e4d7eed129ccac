import { EventEmitter } from 'node:events'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { Writable } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'
import { beforeEach, expect, it } from 'vitest'
import { coverAll } from '../../../server/evidence/log.ts'
import { openSigner } from '../../../server/evidence/signer.ts'
import { quote } from '../../support/cli.ts'
import { useProxy } from '../../support/proxy.ts'
import { useService } from '../../support/service.ts'
import { useCommands } from '../requests/commands.ts'

const service = useService()

/** Answers with 503 while that is set. */
let isDown = false
const proxy = useProxy(service, () => isDown)
const { run, create, account, inFolder } = useCommands(service, proxy)

const rows = (text: string) =>
  text
    .split('\n')
    .filter(line => line !== '')
    .map(line => JSON.parse(line))
const state = () => inFolder(`${account().accountId}.json`)
const place = () => JSON.parse(readFileSync(state(), 'utf8'))
const watch = (...args: string[]) => run(['watch', '-o', 'ndjson', ...args])
const id = async (subject: string) => (await create(subject)).body.id as string

beforeEach(() => {
  isDown = false
})

it('prints what happened since a time, and with --state what happened since the last run', async () => {
  const first = await id('maria@example.com')
  const { code, stdout, stderr } = await watch('--from', '1h', '--once', '--state', state())
  expect([code, stderr]).toEqual([0, ''])
  expect(rows(stdout).filter(({ record_id }) => record_id !== null)).toMatchObject([
    { type: 'created', record_id: first },
  ])
  expect(stdout).not.toContain('maria')
  const second = await id('anna')
  await service.call('PUT', `/api/v1/consents/${second}`, { key: account().key, body: { accepted: true } })
  await service.call('PUT', `/api/v1/consents/${second}`, { key: account().key, body: { accepted: false } })
  const next = await watch('--once', '--state', state(), '--type', 'withdrawn', '--type', 'created')
  expect(rows(next.stdout).map(({ type, record_id }) => [type, record_id])).toEqual([
    ['created', second],
    ['withdrawn', second],
  ])
  expect(await watch('--once', '--state', state())).toEqual({ code: 0, stdout: '', stderr: '' })
  expect(await watch('--once', '--state', state(), '--from', '1h')).toMatchObject({ code: 2 })
  expect(await watch('--once', '--state', state(), '--out', inFolder('rows'))).toMatchObject({ code: 2 })
  const lost = { ...place(), after: place().after + 5 }
  writeFileSync(inFolder('lost.json'), JSON.stringify(lost))
  expect(await watch('--once', '--state', inFolder('lost.json'))).toMatchObject({
    code: 5,
    stderr: expect.stringContaining('it lost events'),
  })
  writeFileSync(inFolder('lost.json'), JSON.stringify({ ...lost, account_id: 'another' }))
  expect(await watch('--once', '--state', inFolder('lost.json'))).toMatchObject({ code: 2 })
  expect(await watch('--state', inFolder('none', 'feed.json'))).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('feed.json cannot be written: ENOENT'),
  })
  writeFileSync(state(), '{')
  expect(await watch('--once', '--state', state())).toMatchObject({ code: 5 })
})

/** Runs `watch` until it is ended by a signal, with stderr on a terminal. */
function start(...args: string[]) {
  const signals = new EventEmitter()
  let printed = ''
  const stdout = new Writable({
    write: (chunk, _, done) => {
      printed += chunk
      done()
    },
  })
  const watching = run(['watch', '-o', 'ndjson', '--state', state(), ...args], {
    signals,
    stdout,
    tty: { stderr: true },
  })
  const records = () => rows(printed).map(({ record_id }) => record_id)
  return {
    records,
    has: (record: string) => expect.poll(records, { timeout: 20_000 }).toContain(record),
    end: async () => {
      signals.emit('SIGTERM')
      return await watching
    },
  }
}

it('begins now, goes on after the connection was lost, and ends with 0 by a signal', async () => {
  await id('earlier')
  const watching = start()
  await expect.poll(() => existsSync(state()), { timeout: 10_000 }).toBe(true)
  const one = await id('one')
  await watching.has(one)
  isDown = true
  const two = await id('two') // which the request in flight may get
  await delay(1500)
  const three = await id('three')
  isDown = false
  await watching.has(three)
  const { code, stderr } = await watching.end()
  expect([code, watching.records()], stderr).toEqual([0, [one, two, three]])
  expect(stderr).toMatch(
    /^waiting for events of default@127[^\n]*: Ctrl-C ends it\ndown; trying again\nconnected again\n$/,
  )
})

it('runs a command for each event, those of a record in order, and keeps the place of the last that succeeded', async () => {
  const ids = [await id('a'), await id('b'), await id('c')]
  const out = inFolder(`${account().accountId}.ndjson`)
  const fails = `grep -v ${ids[2]} >> ${quote(out)}`
  const failed = await watch('--from', '1h', '--once', '--state', state(), '--exec', fails, '--type', 'created')
  expect(failed, failed.stderr).toMatchObject({ code: 8, stdout: '' })
  expect(failed.stderr).toContain('the command ended with 1 for the event')
  expect(rows(readFileSync(out, 'utf8')).map(({ record_id }) => record_id)).toEqual(ids.slice(0, 2))
  for (const record of ids) await service.call('DELETE', `/api/v1/consents/${record}`, { key: account().key })
  const all = ['--state', state(), '--exec', `cat >> ${quote(out)}`, '--concurrency', '4']
  expect(await watch('--once', ...all)).toMatchObject({ code: 0 })
  const events = rows(readFileSync(out, 'utf8')).filter(({ record_id }) => record_id !== null)
  expect(events.map(({ position }) => position).toSorted((a, b) => a - b)).toEqual(
    [...new Set(events.map(({ position }) => position))].toSorted((a, b) => a - b),
  )
  for (const record of ids)
    expect(events.filter(({ record_id }) => record_id === record).map(({ type }) => type)).toEqual([
      'created',
      'deleted',
    ])
})

it('when it is interrupted while a command runs, ends with 0, and the next run repeats the event', async () => {
  const out = inFolder(`${account().accountId}.ndjson`)
  await watch('--once', '--state', state())
  const record = await id('a')
  const signals = new EventEmitter()
  const watching = run(['watch', '--state', state(), '--exec', `cat >> ${quote(out)}; sleep 2; exit 1`], { signals })
  await expect.poll(() => existsSync(out), { timeout: 20_000 }).toBe(true)
  signals.emit('SIGINT')
  expect(await watching).toMatchObject({ code: 0, stderr: '' })
  const next = await watch('--once', '--state', state())
  expect(rows(next.stdout).map(({ record_id }) => record_id)).toEqual([record])
})

it('rejects an unknown type', async () => {
  expect(await watch('--once', '--type', 'withdrawl')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('must be created, imported, updated, withdrawn'),
  })
})

it('compares events with signed checkpoints, and ends with 5 after a change of the past', async () => {
  await id('a')
  const verify = ['--verify', '--state', state(), '--once']
  expect(await watch(...verify)).toMatchObject({ code: 0, stderr: '' })
  const { after } = place()
  await id('b')
  expect(await watch(...verify)).toMatchObject({ code: 0, stderr: '' })
  expect(place().after).toBe(after + 1)
  const changed = Buffer.alloc(32, 7)
  const { accountId } = account()
  await id('c')
  await coverAll({ sql: service.sql, signer: await openSigner(service.sql, null) })
  await service.sql`update log_entries set hash = ${changed} where account_id = ${accountId} and leaf_index = ${after + 2}`
  const found = await watch(...verify)
  expect(found.code, found.stderr).toBe(5)
  expect(found.stderr).toContain('the events do not match the signed log: the events up to')
  await service.sql`delete from log_entries where account_id = ${accountId} and leaf_index = ${after + 2}`
  expect((await watch(...verify)).code).toBe(5)
  await service.sql`delete from log_entries where account_id = ${accountId}` // it cannot be continued
})
