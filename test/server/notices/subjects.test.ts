import { setTimeout as delay } from 'node:timers/promises'
import { beforeAll, describe, expect, it } from 'vitest'
import { useService } from '../../support/service.ts'
import { type Importer, newImporter } from '../consents/imports.ts'

const service = useService()
let owner: Importer
beforeAll(async () => {
  owner = await newImporter(service)
})

const path = (version: number | string, query = '') =>
  `/api/v1/sites/${owner.siteId}/notices/${version}/subjects${query}`
const page = (version: number | string, query = '') => service.call('GET', path(version, query), { key: owner.key })
const agree = (subject_id: string | undefined, policy_version: number, fields: object = {}) =>
  owner.create({ ...(subject_id !== undefined && { subject_id }), policy_version, accepted: true, ...fields })

/** Follows the pages to the end, and returns the subjects and the sizes of the pages. */
async function everybody(version: number, limit: number) {
  const names: string[] = []
  const sizes: number[] = []
  for (let cursor: string | null = ''; cursor !== null; ) {
    const { body, text } = await page(version, `?limit=${limit}${cursor && `&cursor=${cursor}`}`)
    names.push(...(body.data ?? [text]).map((row: { subject_id: string }) => row.subject_id))
    sizes.push(body.data.length)
    cursor = body.next_cursor
  }
  return { names, sizes }
}

describe('GET /api/v1/sites/{id}/notices/{version}/subjects › 200', () => {
  it('lists each person once whose newest live record on the site agrees to the version', async () => {
    await agree('stayed', 1)
    await agree('agreed-anew', 1)
    await agree('agreed-anew', 2)
    await agree('twice', 1)
    const twice = await agree('twice', 1, { preferences: { a: true } })
    await agree('refused-later', 1)
    await agree('refused-later', 2, { accepted: false })
    const withdrawn = await agree('withdrawn', 1)
    await owner.update(withdrawn.id, { accepted: false })
    const deleted = await agree('deleted', 1)
    await owner.remove(deleted.id)
    await agree('agreed-and-deleted', 1)
    await owner.remove((await agree('agreed-and-deleted', 2)).id)
    await agree(undefined, 1)
    await agree('went-back', 2)
    await agree('went-back', 1)
    const headers = await service.signIn(owner)
    const other = await service.call('POST', '/api/v1/sites', {
      headers,
      body: { name: 'another', allow_duplicate: true },
    })
    await agree('agreed-elsewhere', 1)
    await agree('agreed-elsewhere', 2, { site_id: other.body.id })

    const { body } = await page(1)
    expect(body.data.map(({ subject_id }: { subject_id: string }) => subject_id)).toEqual([
      'agreed-elsewhere',
      'went-back',
      'agreed-and-deleted',
      'twice',
      'stayed',
    ])
    expect(body).toMatchObject({ limit: 50, next_cursor: null })
    expect(body.data[3]).toEqual({
      id: twice.id,
      subject_id: 'twice',
      site_id: owner.siteId,
      policy_version: 1,
      notice_held: false,
      notice_locale: null,
      created_at: twice.created_at,
      updated_at: twice.updated_at,
      expires_at: null,
      given_at: null,
    })
    expect((await everybody(1, 2)).names).toEqual(body.data.map((row: { subject_id: string }) => row.subject_id))
    expect((await everybody(2, 100)).names).toEqual(['agreed-anew'])
    expect((await everybody(7, 100)).names).toEqual([])
  })

  it('lists a person by an imported record only if it has the newest answer, and never hides a later one', async () => {
    const before = { given_at: '2020-05-01T10:00:00.000Z', accepted: true, preferences: {} }
    const importOf = (subject_id: string, policy_version: number, fields: object = {}) =>
      owner.importOne({ subject_id, policy_version, ...before, ...fields })
    const imported = await importOf('imported', 8)
    await agree('agreed-before-import', 9)
    await importOf('agreed-before-import', 8)
    await agree('refused-before-import', 9, { accepted: false })
    await importOf('refused-before-import', 8)
    const withdrawn = await agree('withdrawn-before-import', 9)
    await delay(20)
    await owner.update(withdrawn.id, { accepted: false })
    const between = new Date(Date.parse(withdrawn.created_at) + 1).toISOString()
    await importOf('withdrawn-before-import', 8, { given_at: between })
    await agree('agreed-later-there', 8)
    await importOf('agreed-later-there', 9, { given_at: new Date().toISOString() })
    await importOf('refused-later-there', 8)
    await importOf('refused-later-there', 9, { accepted: false, given_at: '2021-05-01T10:00:00.000Z' })
    await importOf('changed-there', 8, { changes: [{ ...before, policy_version: 9 }] })
    await agree('changed-here', 9)
    await owner.update(await importOf('changed-here', 8), { preferences: { news: true } })

    expect((await everybody(8, 100)).names).toEqual(['changed-here', 'imported'])
    expect((await everybody(9, 100)).names).toEqual(['changed-there', 'agreed-later-there', 'agreed-before-import'])
    const { body } = await page(8)
    expect(body.data[1]).toMatchObject({ id: imported, given_at: before.given_at, notice_held: false })
  })

  it('examines 500 accepted records per page, and neither skips nor repeats a person', async () => {
    const own = await newImporter(service)
    const { id } = await own.create({ subject_id: 'x', accepted: true, policy_version: 1 })
    await service.sql`
      insert into consents (account_id, id, site_id, subject_id, accepted, preferences, policy_version, version,
        record_hash, chain_head, created_at, updated_at)
      select account_id, ('00000000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid, site_id, 'p' || n, true, '{}',
        case when n % 250 = 0 or n > 1900 then 1 else 2 end, 1, record_hash, chain_head, created_at, updated_at
      from consents, generate_series(1, 2000) as n where id = ${id}`
    const before = owner
    owner = own
    const { names, sizes } = await everybody(1, 100)
    owner = before
    const expected = Array.from({ length: 2000 }, (_, index) => 2000 - index).filter(n => n % 250 === 0 || n > 1900)
    expect(names).toEqual(['x', ...expected.map(n => `p${n}`)])
    expect(sizes).toEqual([100, 3, 2, 2, 1])
  })
})

describe('GET /api/v1/sites/{id}/notices/{version}/subjects › 400 and 404', () => {
  it.each(['0', '-1', '1.5', 'x', '2147483648'])('rejects the version %s', async version => {
    expect((await page(version)).status).toBe(400)
  })

  it('rejects a cursor of another version', async () => {
    const { body } = await page(1, '?limit=1')
    expect(body.next_cursor).toEqual(expect.any(String))
    expect((await page(1, `?cursor=${body.next_cursor}`)).status).toBe(200)
    expect((await page(2, `?cursor=${body.next_cursor}`)).status).toBe(400)
  })
})
