import type { Socket } from 'node:net'
import { describe, expect, it } from 'vitest'
import { run } from '../../support/cli.ts'
import { type Fault, type RawRequest, reset, respond } from '../../support/scripted-server.ts'
import { consent, machineError, resumption, uuid } from '../support.ts'
import { useWays } from './ways.ts'

const { faulty, ways } = useWays()

const count = 1000
const ids = Array.from({ length: count }, (_, index) => uuid(index))

/** The page that a request asks for, of the `count` records. */
function pageAt(cursor: number, limit = 100): string {
  const end = Math.min(count, cursor + limit)
  const data = ids.slice(cursor, end).map(id => consent({ id }))
  return JSON.stringify({ data, limit: 100, next_cursor: end < count ? String(end) : null })
}

const queryOf = ({ url }: RawRequest) => new URL(url, 'http://x').searchParams
const cursorOf = (request: RawRequest) => Number(queryOf(request).get('cursor') ?? 0)
const accepts = ({ headers }: RawRequest) => headers['accept']

/** Answers with one page of JSON, as an instance without streams does to every request. */
const single: Fault = (socket, request) =>
  respond(200, pageAt(cursorOf(request), Number(queryOf(request).get('limit'))))(socket, request)

/** Streams `pages` pages from the requested cursor, then ends the connection by `end`. */
const streams =
  (pages: number, end: (socket: Socket, next: string) => void): Fault =>
  (socket, request) => {
    expect(accepts(request)).toBe('application/x-ndjson, application/json;q=0.9')
    socket.write('HTTP/1.1 200 OK\r\ncontent-type: application/x-ndjson\r\ntransfer-encoding: chunked\r\n\r\n')
    let cursor = cursorOf(request)
    for (let page = 0; page < pages && cursor < count; page += 1) {
      socket.write(chunk(`${pageAt(cursor)}\n`))
      cursor += 100
    }
    end(socket, cursor < count ? pageAt(cursor) : '')
  }
const chunk = (text: string) => `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`
const completes = (socket: Socket) => void socket.write('0\r\n\r\n')
const cuts: Record<string, (socket: Socket, next: string) => void> = {
  'closes after a whole line': socket => void socket.end(),
  'closes in the middle of a line': (socket, next) => void socket.end(chunk(next.slice(0, 500))),
  'closes in the middle of a chunk': (socket, next) => void socket.end(chunk(next).slice(0, 500)),
  'ends the body after a whole line': completes,
  'ends the body in the middle of a line': (socket, next) => void socket.write(`${chunk(next.slice(0, 500))}0\r\n\r\n`),
}

describe.each(ways)('list › streams › %s', (_, way) => {
  const list = async (...args: string[]) => {
    const { stdout, ...ended } = await run(['list', '-o', 'ndjson', ...args], { env: way() })
    const lines = stdout.split('\n').slice(0, -1)
    return { ...ended, listed: lines.map(line => JSON.parse(line).id) }
  }

  it('needs a single request after the first', async () => {
    faulty.script(single, streams(10, completes))
    expect(await list()).toMatchObject({ code: 0, listed: ids, stderr: '' })
    expect(faulty.requests.map(accepts)).toEqual(['application/json', 'application/x-ndjson, application/json;q=0.9'])
  })

  it.each(Object.entries(cuts))('when the instance %s, continues from the last cursor', async (_name, cut) => {
    faulty.script(single, streams(3, cut), streams(1, cut), reset, streams(2, cut), streams(10, completes))
    expect(await list()).toMatchObject({ code: 0, listed: ids, stderr: '' })
    expect(faulty.requests.map(cursorOf)).toEqual([0, 100, 400, 500, 500, 700])
  })

  it('when the stream breaks before its first line, retries with backoff, four times in total', async () => {
    faulty.script(
      single,
      streams(0, socket => void socket.end()),
    )
    const { code, listed, stderr } = await list()
    expect([code, listed]).toEqual([7, ids.slice(0, 100)])
    expect(machineError(stderr)).toMatchObject({
      code: 'network',
      hint: 'consentctl list -o ndjson --cursor 100',
    })
    expect(faulty.requests).toHaveLength(5)
  })

  it('when the quota is used up midway, exits with 6 and prints the command that continues', async () => {
    const refuses = respond(429, { error: 'quota_exceeded', message: 'used up' })
    faulty.script(single, streams(3, cuts['closes after a whole line'] ?? completes), refuses)
    const { code, listed, stderr } = await list()
    expect([code, listed]).toEqual([6, ids.slice(0, 400)])
    expect(machineError(stderr)).toMatchObject({ code: 'quota_exceeded' })
    expect(machineError(stderr)['hint']).toBe('consentctl list -o ndjson --cursor 400')
  })

  it('when a line is not a page, fails after the pages before it', async () => {
    const wrong = (socket: Socket) => void socket.write(chunk('{"error":"unavailable","message":"x"}\n'))
    faulty.script(single, streams(2, wrong))
    const { code, listed, stderr } = await list()
    expect([code, listed]).toEqual([2, ids.slice(0, 300)])
    expect(machineError(stderr)).toMatchObject({ code: 'unexpected_answer' })
  })

  it('when an instance stops streaming, continues page by page', async () => {
    faulty.script(single, streams(2, completes), single)
    expect(await list()).toMatchObject({ code: 0, listed: ids, stderr: '' })
    expect(faulty.requests.map(cursorOf)).toEqual([0, 100, 300, 400, 500, 600, 700, 800, 900])
  })

  it.each([
    ['--limit', '350', 350],
    ['--max-requests', '3', 300],
    ['--concurrency', '1', 1000],
  ])('with %s %s, requests no stream', async (flag, value, records) => {
    faulty.script(single)
    const { code, listed, stderr } = await list(flag, value)
    expect([code, listed]).toEqual([0, ids.slice(0, records)])
    expect(new Set(faulty.requests.map(accepts))).toEqual(new Set(['application/json']))
    if (records < count) expect(resumption(stderr)).toContain('--cursor')
  })
})
