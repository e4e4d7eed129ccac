import { setTimeout as delay } from 'node:timers/promises'
import { beforeAll, describe, expect, it } from 'vitest'
import { useService } from '../../support/service.ts'
import { newOwner, type Owner, root } from '../consents/records.ts'
import { converse } from './conversation.ts'
import { expectClientError, useLedger } from './ledger.ts'
import * as malformed from './malformed.ts'
import { type Make, type Parts, partsFor } from './parts.ts'
import * as wellformed from './wellformed.ts'

const service = useService()
let owner: Owner
beforeAll(async () => {
  owner = await newOwner(service)
})
const ledger = useLedger(service)

async function answersTo(make: Make, options: { fin?: boolean } = {}) {
  const answers = await converse(service.url, make(partsFor(owner)), options)
  for (const answer of answers) ledger.note(answer)
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
  const answers = await converse(service.url, [open, 'no size\r\n'], { patience: 500, mayWait: true })
  expect(answers.length).toBeLessThanOrEqual(1)
  for (const answer of answers) expectClientError(answer)
}

describe('is refused, and nothing after it is read:', () => {
  it.each(malformed.badLengths)('a Content-Length that is %j', value =>
    expectOneRefusal(({ post, body }) =>
      post([`Content-Length:${value.replace('N', String(body.length))}`], body),
    ),
  )

  it.each(malformed.badCodings)('a Transfer-Encoding that is %j', value =>
    expectOneRefusal(({ post, chunked }) => post([`Transfer-Encoding: ${value}`], chunked())),
  )

  it.each(malformed.badBodies)('a body with %s', (_what, make) => expectOneRefusal(make))

  it.each(malformed.badChunkSizes)('a chunk whose size is %j', size =>
    expectOneRefusal(({ post, coding }) => post([coding], `${size}\r\n{}\r\n0\r\n\r\n`)),
  )

  it.each(malformed.badLines)('the request line %j', line => expectOneRefusal(({ head }) => head(line)))

  it.each(malformed.badHeaders)('a header that is %j', header =>
    expectOneRefusal(({ head }) => head('GET /live HTTP/1.1', header)),
  )

  it.each(malformed.badStarts)('what begins with %s', (_what, make) => expectOneRefusal(make))

  it.each(malformed.cutShort)('and then closed, %s', (_what, make) => expectOneRefusal(make, { fin: true }))
})

describe('is answered like any other request:', () => {
  it.each(wellformed.goodBodies)('a create with %s', async (_what, make) => {
    const answers = await answersTo(make)
    expect(answers.map(answer => [answer.status, answer.text])).toEqual([[201, expect.any(String)]])
    expect(JSON.parse(answers[0]?.text ?? '')).toMatchObject({ site_id: owner.siteId, accepted: true })
  })

  it.each(wellformed.goodReads)('a read with %s', async (_what, make) => {
    expect((await answersTo(make)).map(({ status }) => status)).toEqual([200])
  })
})

describe('on one connection', () => {
  it('requests are answered in their order, each once', async () => {
    const answers = await answersTo(({ post, body, get }) => {
      const keep = (text: string) => text.replace('Connection: close\r\n', '')
      const create = keep(post([`Content-Length: ${body.length}`], body))
      return [create, keep(get('limit=0')), create, keep(get('limit=1')), get('limit=2')].join('')
    })
    expect(answers.map(({ status }) => status)).toEqual([201, 400, 201, 200, 200])
    expect(answers.slice(-2).map(({ text }) => JSON.parse(text).limit)).toEqual([1, 2])
  })

  it.each(wellformed.refusedWithBody)(
    'the body of what is refused as %i is never a request of its own',
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
    'nothing follows what is refused as %i and has no end',
    async (status, make) => {
      const answers = await answersTo(parts => make(parts, 'x'.repeat(10)).slice(0, -9), { fin: true })
      expect(answers.length).toBeLessThanOrEqual(1)
      for (const answer of answers) expect([400, status]).toContain(answer.status)
    },
  )

  it('a body in a read is not looked at, and no request either', async () => {
    const answers = await answersTo(({ get }) => {
      const inner = get('limit=3')
      const outer = get('limit=2').replace('Connection: close', `Content-Length: ${inner.length}`)
      return outer + inner + get('limit=4')
    })
    expect(answers.map(({ text }) => JSON.parse(text).limit)).toEqual([2, 4])
  })

  it('a request whose sender then says no more is answered', async () => {
    const answers = await answersTo(({ get }) => get('limit=1'), { fin: true })
    expect(answers.map(({ status }) => status)).toEqual([200])
  })

  it.each([
    ['404', ({ head, coding }: Parts) => head('POST /nope HTTP/1.1', coding)],
    ['413', ({ post }: Parts) => post(['Content-Length: 200000'], '')],
  ])('what is refused as %s before its body breaks is not answered a second time', (_status, make) =>
    expectNoSecondAnswer(make),
  )

  it('nothing after a final request is answered', async () => {
    const answers = await answersTo(({ get }) => get('limit=1') + get('limit=2'))
    expect(answers.length).toBeLessThanOrEqual(1)
  })
})

describe('what Node alone would let pass:', () => {
  it.each(wellformed.ambiguous)('%s', async (_what, make) => expectOneRefusal(make))

  it.each([
    ['401', ({ head, coding, key }: Parts) => head(`POST ${root} HTTP/1.1`, coding).replace(key, 'x')],
    ['405', ({ head, coding }: Parts) => head(`PATCH ${root} HTTP/1.1`, coding)],
  ])('what is refused as %s before its body breaks is not answered a second time', (_status, make) =>
    expectNoSecondAnswer(make),
  )

  it('a request is answered or undone, and never refused and done, where rubbish follows it', async () => {
    const { body: record, ...created } = await owner.post({ site_id: owner.siteId })
    ledger.note(created)
    const answers = await answersTo(({ head }) => `${head(`DELETE ${root}/${record.id} HTTP/1.1`)}rubbish`)
    await delay(300) // for what may still be in flight
    const isDone = (await owner.get(record.id)).status === 404
    expect(isDone).toBe(answers[0]?.status === 200)
  })

  it('an Idempotency-Key counts, however many headers come before it', async () => {
    const headers = Array(2100).fill('X: y')
    const create: Make = ({ post, body }) =>
      post([...headers, `Content-Length: ${body.length}`, 'Idempotency-Key: once'], body)
    const [[first], [again]] = [await answersTo(create), await answersTo(create)]
    expect(again?.text).toBe(first?.text)
  })
})
