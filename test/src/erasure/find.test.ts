import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { HttpResponse, http } from 'msw'
import { describe, expect, it } from 'vitest'
import { countSites } from '../../../src/erasure/found.ts'
import { keyIdOf, newSigningKey, publicBytes } from '../../../src/evidence/keys.ts'
import { signDocument } from '../../../src/evidence/signed.ts'
import { answers, apiKey, consent, consentsPath, fails, useCli, uuid } from '../support.ts'
import { holds, lastReceipt, maria, place } from './instance.ts'

const cli = useCli()
const unnamed = { deleted: 0, records: [], already_deleted: [] }

/** What our own service says of itself, as far as it is asked. */
const described = {
  openapi: '3.1.1',
  paths: {
    '/api/v1/consents': { get: { parameters: [{ in: 'query', name: 'include_deleted' }] } },
    '/api/v1/subjects/erase': { post: {} },
  },
}
const description = answers('get', '*/api/v1/openapi.json', described)

describe('subject find', () => {
  it('shows deleted records that still hold data, where the instance shows such', async () => {
    const deleted = consent({ id: uuid(2), deleted_at: '2026-02-01T00:00:00.000Z' })
    cli.instance.use(
      description,
      http.get(consentsPath, ({ request }) => {
        const all = new URL(request.url).searchParams.get('include_deleted') === 'true'
        return HttpResponse.json({ data: [consent(), ...(all ? [deleted] : [])], next_cursor: null })
      }),
    )
    const { stdout } = await place(cli).run('find', maria, '-o', 'json')
    expect(JSON.parse(stdout).map((row: { state: string }) => row.state)).toEqual(['live', 'deleted'])
  })

  it('asks for every identifier of a person, and shows each record once', async () => {
    holds(cli, 2)
    const { stdout } = await place(cli).run('find', maria, '--also', 'nobody', '--also', maria, '-o', 'id')
    expect(stdout.trim().split('\n')).toHaveLength(2)
    expect(cli.sent().filter(({ path }) => path.endsWith('consents'))).toHaveLength(2)
  })

  it('asks every stored instance with its own key, and tells of one that fails', async () => {
    holds(cli, 1)
    const at = place(cli)
    mkdirSync(at.config, { recursive: true, mode: 0o700 })
    const profiles = { one: { base_url: cli.instance.url }, two: { base_url: 'http://127.0.0.1:9' } }
    const key = (base_url: string) => ({ api_key: 'sk-of-one-0123456789abcdef', base_url })
    writeFileSync(join(at.config, 'config.json'), JSON.stringify({ profiles }))
    const credentials = { one: key(cli.instance.url), two: key('http://127.0.0.1:9') }
    writeFileSync(join(at.config, 'credentials.json'), JSON.stringify(credentials), { mode: 0o600 })
    const { code, stdout, stderr } = await at.run('find', maria, '--all-profiles', '-o', 'json')
    expect(code).toBe(8)
    expect(JSON.parse(stdout)).toMatchObject([{ profile: 'one', id: uuid(1), state: 'live' }])
    expect(stderr).toContain('profile two')
    const sent = cli.instance.requests.map(({ headers }) => headers.authorization)
    expect(sent).not.toContain(`Bearer ${apiKey}`)
    expect(sent).toContain('Bearer sk-of-one-0123456789abcdef')
  })

  it('refuses --all-profiles beside an address or a profile', async () => {
    const { code } = await place(cli).run('find', maria, '--all-profiles', '--base-url', cli.instance.url)
    expect(code).toBe(2)
  })
})

describe('where the quota is used up, a service that erases subjects itself', () => {
  const key = newSigningKey()
  const keys = [{ kty: 'OKP', crv: 'Ed25519', x: publicBytes(key).toString('base64url') }]
  const certifying = (erased: number) => {
    const said = { type: 'erasure_certificate', version: 1, ticket: 'T', erased, key_id: keyIdOf(key) }
    return signDocument(said, key)
  }

  /** It erases two of the records with each call. */
  function erasing(instance: ReturnType<typeof holds>, calls: Record<string, unknown>[]) {
    cli.instance.use(
      description,
      http.get('*/.well-known/consent-keys.json', () => HttpResponse.json({ keys })),
      http.post('*/api/v1/subjects/erase', async ({ request }) => {
        const body = (await request.json()) as { dry_run?: boolean }
        calls.push(body)
        const batch = [...instance.records.values()].slice(0, body.dry_run ? undefined : 2)
        if (!body.dry_run) for (const { id } of batch) instance.records.delete(id)
        const left = instance.records.size
        if (calls.length === 4) return fails(502, 'unavailable')
        return HttpResponse.json({
          erased: batch.length,
          ...unnamed,
          remaining: left,
          complete: left === 0,
          dry_run: body.dry_run ?? false,
          sites: [...countSites(batch)].map(([site_id, records]) => ({ site_id, records })),
          certificate: body.dry_run ? null : certifying(batch.length),
        })
      }),
    )
  }

  it('counts and erases: in batches, over a lost answer, until nothing is left', async () => {
    const instance = holds(cli, 9)
    instance.quota = 0
    const calls: Record<string, unknown>[] = []
    erasing(instance, calls)
    const at = place(cli)
    const { code, stderr } = await at.run('erase', maria, '--ticket', 'T', '--confirm', '9')
    expect(code, stderr).toBe(0)
    expect(stderr).toContain('the service counts and erases the records itself')
    expect(instance.records.size).toBe(0)
    expect(calls[2]).toEqual({ subject_id: maria, ticket: 'T' })
    expect(await lastReceipt(at)).toMatchObject({
      result: 'erased',
      plan_sha256: null,
      counts: { deleted: 0, already_gone: 0, deleted_in_bulk: 7, unknown: 2 },
      answers_lost: 1,
      certificates: [2, 2, 2, 1].map(certifying),
      verification: { live: 0, deleted: null },
    })
    expect(await at.run('verify', 'last', '--live')).toMatchObject({ code: 0 })
    keys.splice(0, 1, {
      ...(keys[0] as (typeof keys)[0]),
      x: publicBytes(newSigningKey()).toString('base64url'),
    })
    expect(await at.run('verify', 'last', '--live')).toMatchObject({
      code: 5,
      stdout: expect.stringContaining('a key that the service does not publish'),
    })
  })

  it.each([-1, 0.5, 2 ** 60])('takes no answer that counts %d records', async records => {
    holds(cli, 2).quota = 0
    const wrong = {
      ...unnamed,
      erased: records,
      remaining: 0,
      complete: true,
      dry_run: false,
      certificate: null,
    }
    cli.instance.use(
      description,
      http.post('*/api/v1/subjects/erase', () =>
        HttpResponse.json({ ...wrong, sites: [{ site_id: uuid(900), records }] }),
      ),
    )
    const at = place(cli)
    const { code, stderr } = await at.run('erase', maria, '--ticket', 'T', '--yes')
    expect(code).not.toBe(0)
    expect(stderr).toContain('erased')
    expect(at.receipts()).toEqual([])
  })

  it('erases what is left of the plan, when the quota ends on the way', async () => {
    const instance = holds(cli, 12)
    instance.quota = 6
    const calls: Record<string, unknown>[] = [{}, {}, {}, {}]
    erasing(instance, calls)
    const at = place(cli)
    const { code, stdout, stderr } = await at.run('erase', maria, '--ticket', 'T', '--yes', '-o', 'json')
    expect(code, stderr).toBe(0)
    expect(JSON.parse(stdout)).toHaveLength(12)
    expect(await lastReceipt(at)).toMatchObject({
      counts: { deleted: 5, already_gone: 0, deleted_in_bulk: 7, unknown: 0 },
    })
    expect(at.journals()).toEqual([])
  })
})
