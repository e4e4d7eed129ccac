import { readFileSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import { join } from 'node:path'
import { stripVTControlCharacters } from 'node:util'
import { request } from 'undici'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { runBinary } from '../support/cli.ts'
import { close, listen } from '../support/net.ts'
import { hasTerminal, openTerminal } from '../support/terminal.ts'
import { useQuickstart } from './served.ts'

const quickstart = useQuickstart('day')
const at = (name: string) => join(quickstart.folder.path, name)
const { env } = quickstart
let site: { id: string; name: string }

/** Runs a command that must end with an exit code, and returns its standard output. */
async function run(code: number, args: readonly string[], more: Record<string, string> = {}): Promise<string> {
  const ran = await runBinary(args, { env: { ...env(), ...more } })
  expect(ran, args.join(' ')).toMatchObject({ code })
  return ran.stdout
}
const lines = (text: string) => text.trimEnd().split('\n')

beforeAll(async () => {
  const [first] = JSON.parse(await run(0, ['sites', 'list', '--json']))
  site = first
})

const crm = `\ufeffE-Mail;Status;Newsletter\r
maria@example.com;Ja;ja\r
"MARIA@example.com ";ja;nein\r
customer-1;Nein;nein\r
customer-2;nein;nein\r
`
const map = 'subject_id=E-Mail,accepted=Status,pref.marketing=Newsletter'
const words = ['--true', 'ja', '--false', 'nein']

describe('a day with the service', () => {
  it('begins with an import from another tool and a look at the records', async () => {
    writeFileSync(at('crm.csv'), crm)
    await run(0, ['create', '--file', at('crm.csv'), '--map', map, ...words, '--site', site.name])
    const rows = JSON.parse(await run(0, ['list', '--site', site.name, '--json']))
    expect(rows).toHaveLength(4)
    expect(rows.map(({ preferences }: { preferences: object }) => preferences)).toContainEqual({ marketing: true })
    await run(5, ['list', '--site', 'no such site'])
    const csv = ['list', '-o', 'csv', '--columns', 'subject_id,pref.marketing', '--out', at('x.csv')]
    await run(0, csv)
    expect(readFileSync(at('x.csv'), 'utf8')).toMatch(/^subject_id,pref\.marketing\r\n/)
    await run(2, csv)
    await run(0, [...csv, '--force'])
  })

  it('continues with bulk changes, an accidental deletion, and its restore', async () => {
    const refused = ['update', '--where', `site=${site.name},refused`, '--pref', 'profiling=false']
    await run(10, [...refused, '--confirm', '3'])
    expect(lines(await run(0, [...refused, '--confirm', '2']))).toHaveLength(2)
    const ids = lines(await run(0, ['list', '--refused', '-q']))
    writeFileSync(at('ids.txt'), `${ids.join('\n')}\n`)
    await run(0, ['rm', '--file', at('ids.txt'), '--confirm', '2'])
    await run(3, ['get', ids[0] ?? ''])
    await run(0, ['restore', ...ids])
    const history = JSON.parse(await run(0, ['history', ids[0] ?? '', '--json']))
    expect(history).toHaveLength(4)
    await run(0, ['history', ...ids, '--verify'])
  })

  it('ends with an erasure request, from the register to the purge', async () => {
    const today = new Date().toISOString().slice(0, 10)
    await run(0, ['requests', 'add', 'DSR-7', 'maria@example.com', '--kind', 'erasure', '--received', today])
    expect(await run(0, ['requests', 'next', '-q'])).toBe('DSR-7\n')
    await run(0, ['requests', 'list', '--check'])
    const near = await run(0, ['subject', 'find', '--request', 'DSR-7', '--like', '--json'])
    expect(JSON.parse(near)).toHaveLength(2)
    const [id = ''] = lines(await run(0, ['subject', 'find', '--request', 'DSR-7', '-q']))
    await run(0, ['subject', 'erase', '--request', 'DSR-7', '--confirm', '1'])
    expect(JSON.parse(await run(0, ['subject', 'receipts', 'DSR-7', '--format', 'json']))).toMatchObject({
      result: 'erased',
      ticket: 'DSR-7',
    })
    await run(5, ['restore', id])
    await run(0, ['subject', 'verify', 'last', '--live'])
    await run(0, ['subject', 'purge', 'last', '--confirm', '1'])
    await run(0, ['requests', 'close', 'DSR-7', '--outcome', 'done', '--yes'])
    expect(JSON.parse(await run(0, ['requests', 'show', 'DSR-7', '--json']))).toMatchObject({
      state: 'closed',
      subject_ids: null,
      receipts: [{ type: 'erasure_receipt' }, { type: 'erasure_receipt' }],
    })
    expect(await run(0, ['requests', 'report', '--from', today, '--to', today])).toContain('erasure')
    await run(0, ['doctor'])
    expect(await run(0, ['list', '--count'])).toBe('3\n')
    const [stats] = JSON.parse(await run(0, ['stats', '--exact', '--json']))
    expect(stats).toMatchObject({ records: 4, persons: 4, accepted: 1, refused: 3, deleted: 1 })
    expect(await run(0, ['stats', '-o', 'table'])).toBe('')
  })

  it.skipIf(!hasTerminal)('fits a terminal of 80 columns', async () => {
    for (const args of [
      ['list'],
      ['requests', 'list', '--all'],
      ['keys', '--help'],
      ['help', 'environment'],
      ['get', '--help'],
    ]) {
      const { code, screen } = await openTerminal(args, env()).ended
      expect(code, args.join(' ')).toBe(0)
      const widths = stripVTControlCharacters(screen)
        .split(/\r?\n/)
        .map(line => line.length)
      expect(Math.max(...widths), screen).toBeLessThanOrEqual(80)
    }
  })
})

describe('the same day with an instance that has only the six routes', () => {
  let proxy: Server
  let other: Record<string, string>
  beforeAll(async () => {
    proxy = sixRoutes(quickstart.server.url)
    other = { CONSENTCTL_BASE_URL: await listen(proxy), CONSENTCTL_SITE: site.id }
    other['CONSENTCTL_API_KEY'] = (await run(0, ['auth', 'token'])).trim()
  })
  afterAll(() => close(proxy))

  it('imports, changes, deletes and erases', async () => {
    await run(0, ['create', '--file', at('crm.csv'), '--map', map, ...words], other)
    await run(0, ['update', '--where', 'subject=customer-1', '--accepted', '--confirm', '2'], other)
    const [id = ''] = lines(await run(0, ['list', '--subject', 'customer-2', '-q'], other))
    await run(0, ['rm', id, '--yes'], other)
    await run(0, ['history', id], other)
    await run(0, ['subject', 'erase', 'maria@example.com', '--ticket', 'T-8', '--confirm', '1'], other)
    expect(JSON.parse(await run(0, ['subject', 'receipts', 'T-8', '--format', 'json'], other))).toMatchObject({
      result: 'erased',
    })
  })

  it.each([
    [['requests', 'list']],
    [['restore', '01990000-0000-7000-8000-000000000000']],
    [['sites', 'list']],
    [['stats']],
    [['subject', 'find', 'maria@example.com', '--like']],
    [['subject', 'purge', 'last', '--confirm', '1']],
  ])('reports that the instance does not support what %j needs', async args => {
    const ran = await runBinary(args, { env: { ...env(), ...other, CONSENTCTL_ERROR_FORMAT: 'json' } })
    expect([ran.code, JSON.parse(ran.stderr.trimEnd().split('\n').at(-1) ?? '').error.code]).toEqual([2, 'not_offered'])
  })
})

/** A proxy that knows the routes of the service specification (section 4) alone. */
function sixRoutes(target: string): Server {
  const routes =
    /^(GET|POST) \/api\/v1\/consents$|^(GET|PUT|DELETE) \/api\/v1\/consents\/[^/]+$|^GET \/api\/v1\/consents\/[^/]+\/history$/
  return createServer(async (incoming, outgoing) => {
    const { method = 'GET', url = '/', headers } = incoming
    if (!routes.test(`${method} ${url.split('?')[0]}`)) {
      outgoing.writeHead(404, { 'content-type': 'application/json' })
      return void outgoing.end('{"error":"not_found","message":"There is no such route."}')
    }
    const { host: _, connection: __, 'transfer-encoding': ___, ...passed } = headers
    const body = method === 'GET' || method === 'DELETE' ? null : incoming
    const answer = await request(target + url, { method: method as 'GET', headers: passed, body })
    outgoing.writeHead(answer.statusCode, { 'content-type': 'application/json' })
    answer.body.pipe(outgoing)
  })
}
