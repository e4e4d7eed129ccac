import { createHash } from 'node:crypto'
import { HttpResponse, http } from 'msw'
import { beforeEach, expect, it } from 'vitest'
import { fails, useCli, uuid } from '../support.ts'
import { fakeInstance, freshFolders, lastReceipt, maria } from './fake-instance.ts'

const cli = useCli()
let folders: ReturnType<typeof freshFolders>
beforeEach(() => {
  folders = freshFolders(cli)
})

const documents = '/api/v1/subjects/documents'
const hmacs = '/api/v1/subjects/hmacs'
const account_id = uuid(800)
const subject_hmacs = ['a'.repeat(64)]
const rows = async () => JSON.parse((await folders.run('receipts', '--json')).stdout)

/** Erases two new records of a person on an instance that keeps documents, but for those refused. */
function keepingInstance(refusal: (ticket: string) => Response | undefined, tellsHmacs = true) {
  const kept: { document: string; public_key: string }[] = []
  const described = { '/api/v1/caller': { get: {} }, [documents]: { get: {}, post: {} }, [hmacs]: { post: {} } }
  const toKept = ({ document, public_key }: { document: string; public_key: string }) => ({
    ...{ id: uuid(810), document, public_key, sha256: createHash('sha256').update(document).digest('hex') },
    ...{ key_known_since: '2026-01-31T00:00:00.000Z', kept_at: '2026-01-31T00:00:00.000Z' },
  })
  const install = () =>
    cli.instance.use(
      http.get('*/api/v1/openapi.json', () => HttpResponse.json({ paths: described })),
      http.get('*/api/v1/caller', () => HttpResponse.json({ account_id, kind: 'api_key', id: uuid(801) })),
      http.post(`*${hmacs}`, () =>
        tellsHmacs ? HttpResponse.json({ account_id, subject_hmacs }) : fails(403, 'forbidden', 'no scope'),
      ),
      http.post(`*${documents}`, async ({ request }) => {
        const body = (await request.json()) as { document: string; public_key: string }
        const refused = refusal(JSON.parse(body.document).ticket)
        if (refused) return refused
        kept.unshift(body)
        return HttpResponse.json(toKept(body), { status: 201 })
      }),
      http.get(`*${documents}`, ({ request }) => {
        const limit = Number(new URL(request.url).searchParams.get('limit'))
        return HttpResponse.json({ data: kept.slice(0, limit).map(toKept), limit, next_cursor: null })
      }),
    )
  return {
    erase: (ticket: string) => {
      fakeInstance(cli, 2)
      install()
      return folders.run('erase', maria, '--ticket', ticket, '--yes')
    },
    tickets: () => kept.map(({ document }) => JSON.parse(document).ticket).reverse(),
  }
}

it('subject erase › on an instance with the routes of the specification alone, the receipt stays on the machine', async () => {
  fakeInstance(cli, 2)
  const erased = await folders.run('erase', maria, '--ticket', 'DSR-7', '--yes')
  expect(erased.code, erased.stderr).toBe(0)
  expect(await lastReceipt(folders)).toMatchObject({ hmac_key: 'profile' })
  expect(await rows()).toMatchObject([{ number: 1, local: true, kept: null }])
  expect(cli.sent().filter(({ path }) => path.startsWith('/api/v1/subjects'))).toEqual([])
})

it('subject erase › when the service rejects a receipt, warns, and sends those after it', async () => {
  const instance = keepingInstance(ticket =>
    ticket === 'DSR-1' ? fails(400, 'invalid_request', 'document: does not match its schema') : undefined,
  )
  const first = await instance.erase('DSR-1')
  expect(first).toMatchObject({ code: 0, stderr: expect.stringContaining('receipt 1 is on this machine only') })
  expect(await lastReceipt(folders)).toMatchObject({ hmac_key: 'account', account_id, subject_hmacs })
  expect((await instance.erase('DSR-2')).code).toBe(0)
  expect((await instance.erase('DSR-3')).stderr).not.toContain('on this machine only')
  expect(instance.tickets()).toEqual(['DSR-2', 'DSR-3'])
  expect(await rows()).toMatchObject([
    { number: 3, kept: true },
    { number: 2, kept: true },
    { number: 1, kept: false },
  ])
})

it('subject erase › when the service is out of order, sends receipts in their order once it is not', async () => {
  let isDown = true
  const instance = keepingInstance(() => (isDown ? fails(503, 'unavailable', 'down') : undefined))
  expect(await instance.erase('DSR-1')).toMatchObject({ code: 0, stderr: expect.stringContaining('1 erasure') })
  expect(await instance.erase('DSR-2')).toMatchObject({ code: 0, stderr: expect.stringContaining('2 erasure') })
  expect(instance.tickets()).toEqual([])
  isDown = false
  expect((await instance.erase('DSR-3')).code).toBe(0)
  expect(instance.tickets()).toEqual(['DSR-1', 'DSR-2', 'DSR-3'])
})

it('subject erase › when the service tells no HMACs to the key, uses those of the profile, and sends nothing', async () => {
  const instance = keepingInstance(() => undefined, false)
  const erased = await instance.erase('DSR-1')
  expect(erased.code, erased.stderr).toBe(0)
  expect(await lastReceipt(folders)).toMatchObject({ hmac_key: 'profile', account_id })
  expect(instance.tickets()).toEqual([])
})

it('subject receipts › when a kept document does not verify, reports it and exits with 8', async () => {
  const instance = keepingInstance(() => undefined)
  await instance.erase('DSR-1')
  folders = freshFolders(cli)
  cli.instance.use(
    http.get(`*${documents}`, () =>
      HttpResponse.json({
        data: [
          {
            ...{ id: uuid(810), document: '{}', public_key: 'none', sha256: 'b'.repeat(64) },
            ...{ key_known_since: '2026-01-31T00:00:00.000Z', kept_at: '2026-01-31T00:00:00.000Z' },
          },
        ],
        limit: 100,
        next_cursor: null,
      }),
    ),
  )
  const listed = await folders.run('receipts')
  expect(listed).toMatchObject({
    code: 8,
    stdout: '',
    stderr: expect.stringContaining('the kept document bbbbbbbbbbbb'),
  })
})

it('subject verify › of a ticket with several receipts, exits with 2, also if the service keeps one of them', async () => {
  let count = 0
  const refuseFirst = () => (++count <= 2 ? fails(400, 'invalid_request', 'document: is too old') : undefined)
  const instance = keepingInstance(refuseFirst)
  await instance.erase('DSR-7')
  await instance.erase('DSR-7')
  expect(instance.tickets()).toEqual(['DSR-7'])
  const verified = await folders.run('verify', 'DSR-7')
  expect(verified.code).toBe(2)
  expect(verified.stdout + verified.stderr).toContain('the ticket DSR-7 has 2 receipts')
})

it('subject erase --repeat-since › with --dry-run, sends no receipt', async () => {
  let isDown = true
  const instance = keepingInstance(() => (isDown ? fails(503, 'unavailable', 'down') : undefined))
  await instance.erase('DSR-1')
  isDown = false
  const none = { data: [], limit: 100, next_cursor: null }
  cli.instance.use(http.get('*/api/v1/requests', () => HttpResponse.json(none)))
  const repeated = await folders.run('erase', '--repeat-since', '2026-01-01', '--dry-run')
  expect(repeated.code, repeated.stderr).toBe(0)
  expect(instance.tickets()).toEqual([])
})
