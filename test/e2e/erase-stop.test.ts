import { readdirSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { runBinary, start, useFolder } from '../support/cli.ts'
import { close, listen } from '../support/net.ts'
import { hasTerminal, openTerminal } from '../support/terminal.ts'

const folder = useFolder()
const maria = 'maria@example.com'
const live = new Set<string>()
let [url, wait, deleted] = ['', 0, 0]

/** A slow instance with the routes of the specification alone. */
const server = createServer(async (request, response) => {
  const { pathname } = new URL(request.url ?? '', 'http://instance')
  const answer = (status: number, body?: unknown) => {
    response.writeHead(status, { 'content-type': 'application/json' })
    response.end(body === undefined ? undefined : JSON.stringify(body))
  }
  if (request.method === 'DELETE') {
    await delay(wait)
    if (!live.delete(pathname.split('/').at(-1) ?? '')) return answer(404, { error: 'not_found', message: '' })
    deleted += 1
    return answer(204)
  }
  if (!pathname.endsWith('/consents')) return answer(404, { error: 'not_found', message: '' })
  const data = [...live].map(id => ({
    id,
    site_id: 's',
    subject_id: maria,
    accepted: true,
    created_at: 'then',
  }))
  return answer(200, { data, next_cursor: null })
})

beforeAll(async () => {
  url = await listen(server)
})
afterAll(() => close(server))
beforeEach(() => {
  deleted = 0
  for (let index = 0; index < 60; index += 1) live.add(`id-${index}`)
})

let places = 0
const surroundings = () => ({
  HOME: join(folder.path, String(++places)),
  CONSENTCTL_BASE_URL: url,
  CONSENTCTL_API_KEY: 'sk-x',
})
const erase = ['subject', 'erase', maria, '--ticket', 'T-1']
const receiptsIn = (env: { HOME: string }) => {
  try {
    return readdirSync(join(env.HOME, '.local/state/consentctl/receipts/default'))
  } catch {
    return []
  }
}

describe('subject erase', () => {
  it.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const)(
    'at %s finishes running deletions and prints the resume command, which deletes the rest',
    async (signal, code) => {
      wait = 60
      const env = surroundings()
      const { child, ended } = start([...erase, '--yes', '-o', 'id'], env)
      while (deleted < 10) await delay(2)
      child.kill(signal)
      const stopped = await ended
      expect(stopped.code, stopped.stderr).toBe(code)
      expect(stopped.stdout.trim().split('\n')).toHaveLength(deleted)
      expect(deleted).toBeLessThan(60)
      expect(receiptsIn(env)).toEqual([])
      const [, job = ''] = /to resume: consentctl subject resume (\S+)/.exec(stopped.stderr) ?? []
      wait = 0
      const resumed = await start(['subject', 'resume', job, '-o', 'id'], env).ended
      expect(resumed.code, resumed.stderr).toBe(0)
      expect(resumed.stdout.trim().split('\n')).toHaveLength(60)
      expect(deleted).toBe(60)
      expect(receiptsIn(env)).toEqual(['000001.json'])
    },
  )

  it('when two processes resume it, only one succeeds and the other is rejected', async () => {
    wait = 40
    const env = surroundings()
    const killed = start([...erase, '--yes'], env)
    while (deleted < 10) await delay(2)
    killed.child.kill('SIGKILL')
    await killed.ended
    const both = await Promise.all([1, 2].map(() => start(['subject', 'resume', 'last'], env).ended))
    expect(both.map(each => each.code).sort()).toEqual([0, 7])
    expect(receiptsIn(env)).toEqual(['000001.json'])
    const { counts } = JSON.parse((await runBinary(['subject', 'receipts', 'last'], { env })).stdout)
    expect(counts.deleted + counts.unknown).toBe(60)
    expect(counts.unknown).toBeLessThanOrEqual(8) // those in flight when it was killed
  })
})

describe.skipIf(!hasTerminal)('subject erase on a terminal', () => {
  it.each([
    ['another number', '59\r', 9],
    ['nothing', '\r', 9],
    ['Ctrl-C', '\u0003', 130],
    ['the number', '60\r', 0],
  ])('shows the records, and prompts for their number: %s', async (_name, keys, code) => {
    wait = 0
    const env = surroundings()
    const terminal = openTerminal(erase, env)
    await terminal.shows(/60 of site s.*Type 60 to erase these records on default@127/s)
    terminal.type(keys)
    const ended = await terminal.ended
    expect(ended.code, ended.screen).toBe(code)
    expect(deleted).toBe(code === 0 ? 60 : 0)
    expect(receiptsIn(env)).toHaveLength(code === 0 ? 1 : 0)
  })

  it('exits with 10 and deletes nothing if a record was created during the prompt', async () => {
    const env = surroundings()
    const terminal = openTerminal(erase, env)
    await terminal.shows('Type 60')
    live.add('id-new')
    terminal.type('60\r')
    expect((await terminal.ended).code).toBe(10)
    expect(deleted).toBe(0)
    live.clear()
  })
})
