import { HttpResponse, http } from 'msw'
import { describe, expect, it } from 'vitest'
import { keyIdOf, newSigningKey, publicBytes } from '../../../src/evidence/keys.ts'
import { signDocument } from '../../../src/evidence/signed.ts'
import { answers, consent, fails, useCli, uuid } from '../support.ts'
import { holds, maria, place } from './instance.ts'

const cli = useCli()
const unnamed = { deleted: 0, records: [], already_deleted: [] }
const key = newSigningKey()
const published = { keys: [{ kty: 'OKP', crv: 'Ed25519', x: publicBytes(key).toString('base64url') }] }

/** A receipt of three records that the service itself has erased, with this in its certificate. */
async function erasedInBulk(said: object = {}) {
  const instance = holds(cli, 3)
  instance.quota = 0
  const about = { type: 'erasure_certificate', version: 1, ticket: 'T', erased: 3, ...said }
  const certificate = signDocument({ ...about, key_id: keyIdOf(key) }, key)
  cli.instance.use(
    answers('get', '*/api/v1/openapi.json', {
      openapi: '3.1.1',
      paths: { '/api/v1/subjects/erase': { post: {} } },
    }),
    answers('get', '*/.well-known/consent-keys.json', published),
    http.post('*/api/v1/subjects/erase', async ({ request }) => {
      const { dry_run = false } = (await request.json()) as { dry_run?: boolean }
      const erased = instance.records.size
      if (!dry_run) instance.records.clear()
      const sites = erased > 0 ? [{ site_id: uuid(900), records: erased }] : []
      return HttpResponse.json({
        ...unnamed,
        erased,
        remaining: 0,
        complete: true,
        dry_run,
        sites,
        certificate,
      })
    }),
  )
  const at = place(cli)
  expect(await at.run('erase', maria, '--ticket', 'T', '--yes')).toMatchObject({ code: 0 })
  instance.quota = Number.POSITIVE_INFINITY
  const verify = async (...more: string[]) => {
    const { code, stdout } = await at.run('verify', 'last', '--live', ...more, '-o', 'json')
    const rows = JSON.parse(stdout) as { check: string; result: string; detail: string }[]
    const of = (name: string) => rows.find(({ check }) => check === name)
    return { code, live: of('live'), certificates: of('certificates') }
  }
  return { instance, verify }
}

describe('of a receipt that lists no records', () => {
  it('nothing is said to be gone, unless the subject is named', async () => {
    const { instance, verify } = await erasedInBulk()
    instance.records.set(uuid(9), consent({ id: uuid(9), subject_id: maria }))
    expect((await verify()).live).toMatchObject({
      result: 'skip',
      detail: expect.stringContaining('--subject'),
    })
    expect(await verify('--subject', maria)).toMatchObject({ code: 10, live: { result: 'fail' } })
    instance.records.clear()
    expect(await verify('--subject', maria)).toMatchObject({ code: 0, live: { result: 'ok' } })
  })

  it.each([
    ['are of the service, and count what it counts', {}, null],
    ['count fewer', { erased: 2 }, 'count 2 records'],
    ['are of another request', { ticket: 'T-9' }, 'is for another ticket'],
    ['are no certificates', { type: 'consent_receipt' }, 'is no certificate of an erasure'],
  ])('its certificates %s', async (_, said, fault) => {
    const { verify } = await erasedInBulk(said)
    expect(await verify('--subject', maria)).toMatchObject({
      code: fault === null ? 0 : 5,
      certificates: { detail: expect.stringContaining(fault ?? 'each signed by a key that it publishes') },
    })
  })

  it('ends with 5 where its certificates are not valid, whatever is live; and where there are no keys', async () => {
    const { instance, verify } = await erasedInBulk({ erased: 2 })
    instance.records.set(uuid(9), consent({ id: uuid(9), subject_id: maria }))
    expect(await verify('--subject', maria)).toMatchObject({ code: 5, live: { result: 'fail' } })
    cli.instance.use(http.get('*/.well-known/consent-keys.json', () => fails(404, 'not_found')))
    instance.records.clear()
    expect(await verify('--subject', maria)).toMatchObject({
      code: 5,
      certificates: { detail: expect.stringContaining('publishes no keys') },
    })
  })
})
