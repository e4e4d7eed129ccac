import { createHmac } from 'node:crypto'
import { EventEmitter } from 'node:events'
import { writeFileSync } from 'node:fs'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { HttpResponse, http } from 'msw'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { useFolder } from '../../../support/cli.ts'
import { close, listen } from '../../../support/net.ts'
import { expectUnsent, ndjson, useCli } from '../../support.ts'
import { eventOf, webhookSecret } from '../../webhook-fixtures.ts'

const cli = useCli()
const folder = useFolder()

/** What the local server received, and what it answers to the events of a type. */
const received: { headers: IncomingHttpHeaders; url: string; body: string }[] = []
const statuses: Record<string, number> = { created: 500, deleted: 302 }
const server = createServer(async (request, response) => {
  const body = (await buffer(request)).toString()
  received.push({ headers: request.headers, url: request.url ?? '', body })
  const { type } = JSON.parse(body)
  if (type === 'purged') request.socket.destroy()
  else response.writeHead(statuses[type] ?? 204, { location: '/elsewhere' }).end()
})
let local = ''

beforeAll(async () => {
  local = await listen(server)
})
afterAll(() => close(server))
beforeEach(() => {
  received.length = 0
})

const types = ['withdrawn', 'created', 'purged', 'deleted', 'erased']
const all = types.map((type, index) => eventOf(index + 1, { type }))

/** Follows a feed of these events to its end, and interrupts it there. */
async function follow(args: readonly string[], to = local) {
  let end = () => {}
  const ended = new Promise<void>(resolve => {
    end = resolve
  })
  cli.instance.use(
    http.get('*/api/v1/events', async ({ request }) => {
      const query = new URL(request.url).searchParams
      const after = Number(query.get('after'))
      if (after === all.length) await ended
      const data = query.has('newest') ? [] : all.filter(({ position }) => position > after)
      return HttpResponse.json({ data, next_after: data.at(-1)?.position ?? after })
    }),
  )
  const signals = new EventEmitter()
  const running = cli.run(['webhooks', 'listen', '--forward-to', to, '-o', 'ndjson', ...args], { signals })
  await expect.poll(() => cli.sent().at(-1)?.query['after'], { timeout: 10_000 }).toBe(String(all.length))
  signals.emit('SIGINT')
  const ran = await running
  end()
  return ran
}

/** By the text of Standard Webhooks 1.0, not by the code under test. */
function expectSigned({ headers, body }: (typeof received)[number], secret: string) {
  const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64')
  const signed = `${headers['webhook-id']}.${headers['webhook-timestamp']}.${body}`
  expect(headers['webhook-signature']).toBe(`v1,${createHmac('sha256', key).update(signed).digest('base64')}`)
  expect(Math.abs(Number(headers['webhook-timestamp']) - Date.now() / 1000)).toBeLessThan(60)
}

it('sends each event, signed with a secret that it prints, goes on after failures, and ends with 0', async () => {
  const { code, stdout, stderr } = await follow([], `${local}/consents?key=1`)
  const [, secret = ''] = /^deliveries are signed with the secret (whsec_\S+)\n/.exec(stderr) ?? []
  expect(Buffer.from(secret.slice('whsec_'.length), 'base64')).toHaveLength(32)
  expect(received.map(({ body }) => JSON.parse(body))).toEqual(all)
  for (const each of received) expectSigned(each, secret)
  expect(new Set(received.map(({ headers }) => headers['webhook-id'])).size).toBe(all.length)
  expect(received[0]).toMatchObject({ url: '/consents?key=1', headers: { 'content-type': 'application/json' } })
  expect(code).toBe(0)
  expect(ndjson(stdout).map(({ position, type, status }) => [position, type, status])).toEqual([
    [1, 'withdrawn', 204],
    [2, 'created', 500],
    [3, 'purged', null],
    [4, 'deleted', 302],
    [5, 'erased', 204],
  ])
  for (const { ms } of ndjson(stdout)) expect(ms).toBeGreaterThanOrEqual(0)
  expect(stderr.split('\n').slice(1)).toEqual([
    'warning: event 2 was not delivered: answered 500',
    'warning: event 3 was not delivered: no answer (ECONNRESET)',
    'warning: event 4 was not delivered: answered 302',
    '',
  ])
})

it('sends only the types that are named, signed with the secret of a file, from a position on', async () => {
  const file = join(folder.path, 'secret')
  writeFileSync(file, `${webhookSecret}\n`)
  const ran = await follow(['--secret-file', file, '--type', 'erased', '--type', 'created', '--after', '2'])
  expect(ran).toMatchObject({ code: 0, stderr: '' })
  expect(ndjson(ran.stdout)).toMatchObject([{ position: 5, type: 'erased', status: 204, problem: null }])
  for (const each of received) expectSigned(each, webhookSecret)
})

it('when the local server does not run, warns of each event', async () => {
  const down = createServer()
  const url = await listen(down)
  await close(down)
  const { code, stderr } = await follow(['--after', '0'], url)
  expect(code).toBe(0)
  expect(stderr.match(/warning: event \d was not delivered: no answer \(ECONNREFUSED\)/g)).toHaveLength(5)
})

it.each([
  [['--forward-to', 'ftp://localhost/'], '--forward-to must be an http or https URL'],
  [['--forward-to', 'localhost:3000'], '--forward-to must be an http or https URL'],
  [['--forward-to', 'http://localhost', '--after', '1', '--from', '1d'], '--after cannot be combined with --from'],
  [['--forward-to', 'http://localhost', '--type', 'changed'], '--type must be created, imported,'],
])('rejects before it sends anything: %j', async (args, message) => {
  expectUnsent(cli, await cli.run(['webhooks', 'listen', ...args]), message)
})

it.each(['whsec_c2hvcnQ=', webhookSecret.slice(6), ''])('rejects a file without a secret: %j', async text => {
  const file = join(folder.path, 'secret')
  writeFileSync(file, text)
  const { code, stderr } = await cli.run([
    'webhooks',
    'listen',
    '--forward-to',
    'http://localhost',
    '--secret-file',
    file,
  ])
  expect([code, stderr]).toEqual([5, expect.stringContaining('has no secret of a webhook')])
})
