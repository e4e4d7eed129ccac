import { once } from 'node:events'
import { connect } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { beforeAll, describe, expect, it } from 'vitest'
import { useService } from '../../support/service.ts'
import { newOwner, type Owner, root } from '../consents/records.ts'
import * as malformed from './malformed.ts'
import { converse } from './raw-connection.ts'
import { expectClientError, useRecordCount } from './record-count.ts'
import { type Make, type Parts, partsFor } from './request-parts.ts'
import * as wellformed from './wellformed.ts'

const service = useService()
let owner: Owner
beforeAll(async () => {
  owner = await newOwner(service)
})
const recordCount = useRecordCount(service)

async function answersTo(make: Make, options: { fin?: boolean } = {}) {
  const answers = await converse(service.url, make(partsFor(owner)), options)
  for (const answer of answers) recordCount.add(answer)
  return answers
}

/** Expects one answer and no more: what followed on the connection was not read as a request. */
async function expectOneRefusal(make: Make, options: { fin?: boolean } = {}) {
  const answers = await answersTo(make, options)
  expect(answers).toHaveLength(1)
  expectClientError(answers[0])
  expect(answers[0]?.headers['x-request-id']).toMatch(/^[\da-f-]{36}$/)
  expect(answers[0]?.headers['content-type']).toBe('application/json; charset=utf-8')
}

/** Sends a head that is refused, and only then a body that is none. */
async function expectNoSecondAnswer(make: Make) {
  const open = make(partsFor(owner)).replace('Connection: close\r\n', '')
  const answers = await converse(service.url, [open, 'no size\r\n'], { timeoutMs: 500, mayWait: true })
  expect(answers.length).toBeLessThanOrEqual(1)
  for (const answer of answers) expectClientError(answer)
}

describe('HTTP framing › rejected requests', () => {
  it.each(malformed.badLengths)('rejects a Content-Length of %j', value =>
    expectOneRefusal(({ post, body }) => post([`Content-Length:${value.replace('N', String(body.length))}`], body)),
  )

  it.each(malformed.badCodings)('rejects a Transfer-Encoding of %j', value =>
    expectOneRefusal(({ post, chunked }) => post([`Transfer-Encoding: ${value}`], chunked())),
  )

  it.each(malformed.badBodies)('rejects a body with %s', (_what, make) => expectOneRefusal(make))

  it.each(malformed.badChunkSizes)('rejects a chunk size of %j', size =>
    expectOneRefusal(({ post, coding }) => post([coding], `${size}\r\n{}\r\n0\r\n\r\n`)),
  )

  it.each(malformed.badLines)('rejects the request line %j', line => expectOneRefusal(({ head }) => head(line)))

  it.each(malformed.badHeaders)('rejects the header %j', header =>
    expectOneRefusal(({ head }) => head('GET /live HTTP/1.1', header)),
  )

  it.each(malformed.badStarts)('rejects a request that starts with %s', (_what, make) => expectOneRefusal(make))

  it.each(malformed.cutShort)('when the connection ends after %s, rejects the request', (_what, make) =>
    expectOneRefusal(make, { fin: true }),
  )
})

describe('HTTP framing › accepted requests', () => {
  it.each(wellformed.goodBodies)('accepts a create with %s', async (_what, make) => {
    const answers = await answersTo(make)
    expect(answers.map(answer => [answer.status, answer.text])).toEqual([[201, expect.any(String)]])
    expect(JSON.parse(answers[0]?.text ?? '')).toMatchObject({ site_id: owner.siteId, accepted: true })
  })

  it.each(wellformed.goodReads)('accepts a read with %s', async (_what, make) => {
    expect((await answersTo(make)).map(({ status }) => status)).toEqual([200])
  })
})

describe('HTTP framing › one connection', () => {
  it('returns the responses to its requests in order, each once', async () => {
    const answers = await answersTo(({ post, body, get }) => {
      const keep = (text: string) => text.replace('Connection: close\r\n', '')
      const create = keep(post([`Content-Length: ${body.length}`], body))
      return [create, keep(get('limit=0')), create, keep(get('limit=1')), get('limit=2')].join('')
    })
    expect(answers.map(({ status }) => status)).toEqual([201, 400, 201, 200, 200])
    expect(answers.slice(-2).map(({ text }) => JSON.parse(text).limit)).toEqual([1, 2])
  })

  it.each(wellformed.refusedWithBody)(
    'never treats the body of a request rejected with %i as a request',
    async (status, make) => {
      const answers = await answersTo(({ head, get, ...parts }) => {
        const inner = get('limit=3').repeat(3)
        const outer = make({ head, get, ...parts }, inner).replace('Connection: close\r\n', '')
        return outer + get('limit=4')
      })
      expectClientError(answers[0], status)
      const later = answers.slice(1).map(({ text }) => JSON.parse(text).limit)
      expect([[], [4]]).toContainEqual(later)
    },
  )

  it.each(wellformed.refusedWithBody)(
    'is closed after a request without an end that is rejected with %i',
    async (status, make) => {
      const answers = await answersTo(parts => make(parts, 'x'.repeat(10)).slice(0, -9), { fin: true })
      expect(answers.length).toBeLessThanOrEqual(1)
      for (const answer of answers) expect([400, status]).toContain(answer.status)
    },
  )

  it.each([
    ['401', ''],
    ['404', 'key'],
  ])('is closed after a request that is rejected with %s before its body has arrived', async (status, credential) => {
    const { key } = await service.newAccount()
    const authorization = credential ? `Authorization: Bearer ${key}\r\n` : ''
    const head = `POST /api/v1/nothing HTTP/1.1\r\nHost: x\r\n${authorization}Content-Length: 100000\r\n\r\n`
    const [answer] = await converse(service.url, [`${head}{`])
    expect([String(answer?.status), answer?.headers['connection']]).toEqual([status, 'close'])
  })

  it('ignores the body of a read, and does not treat it as a request', async () => {
    const answers = await answersTo(({ get }) => {
      const inner = get('limit=3')
      const outer = get('limit=2').replace('Connection: close', `Content-Length: ${inner.length}`)
      return outer + inner + get('limit=4')
    })
    expect(answers.map(({ text }) => JSON.parse(text).limit)).toEqual([2, 4])
  })

  it('returns a response after the client has half-closed it', async () => {
    const answers = await answersTo(({ get }) => get('limit=1'), { fin: true })
    expect(answers.map(({ status }) => status)).toEqual([200])
  })

  it.each([
    ['401', ({ head, coding, key }: Parts) => head(`POST ${root} HTTP/1.1`, coding).replace(key, 'x')],
    ['404', ({ head, coding }: Parts) => head('POST /nope HTTP/1.1', coding)],
    ['405', ({ head, coding }: Parts) => head(`PATCH ${root} HTTP/1.1`, coding)],
    ['413', ({ post }: Parts) => post(['Content-Length: 200000'], '')],
  ])('returns one response for a request rejected with %s before its body breaks', (_status, make) =>
    expectNoSecondAnswer(make),
  )

  it('returns no response after a final request', async () => {
    const answers = await answersTo(({ get }) => get('limit=1') + get('limit=2'))
    expect(answers.length).toBeLessThanOrEqual(1)
  })
})

it('HTTP framing › survives clients that disconnect before the response to a CONNECT', async () => {
  const { hostname, port } = new URL(service.url)
  for (let time = 0; time < 20; time += 1) {
    const socket = connect(Number(port), hostname).on('error', () => {})
    await once(socket, 'connect')
    socket.write('CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n')
    socket.resetAndDestroy()
  }
  await delay(100)
  expect((await service.call('GET', '/live')).status).toBe(200)
})

describe('HTTP framing › stricter than Node:', () => {
  it.each(wellformed.ambiguous)('rejects %s', async (_what, make) => expectOneRefusal(make))

  it('a request followed by garbage is never both rejected and executed', async () => {
    const { body: record, ...created } = await owner.post({ site_id: owner.siteId })
    recordCount.add(created)
    const answers = await answersTo(({ head }) => `${head(`DELETE ${root}/${record.id} HTTP/1.1`)}rubbish`)
    await delay(300) // for what may still be in flight
    const isDone = (await owner.get(record.id)).status === 404
    expect(isDone).toBe(answers[0]?.status === 200)
  })

  it('an Idempotency-Key is read even after very many headers', async () => {
    const headers = Array(2100).fill('X: y')
    const create: Make = ({ post, body }) =>
      post([...headers, `Content-Length: ${body.length}`, 'Idempotency-Key: once'], body)
    const [[first], [again]] = [await answersTo(create), await answersTo(create)]
    expect(again?.text).toBe(first?.text)
  })
})
