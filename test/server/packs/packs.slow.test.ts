import { setTimeout as delay } from 'node:timers/promises'
import { request } from 'undici'
import { describe, expect, it } from 'vitest'
import { findSecret } from '../../../server/db/secrets.ts'
import { coverAll } from '../../../server/evidence/log.ts'
import { openSigner, type Signer } from '../../../server/evidence/signer.ts'
import { issuePack } from '../../../server/packs/pack.ts'
import { readPackArchive } from '../../../src/commands/verify/pack-files.ts'
import { newSigningKey, signingKeyOf } from '../../../src/evidence/keys.ts'
import { listFile, type PackFiles } from '../../../src/evidence/pack.ts'
import { verifyPack } from '../../../src/evidence/pack-checks.ts'
import { mediaBytes, useService } from '../../support/service.ts'
import { newOwner, type Owner } from '../consents/records.ts'
import { insertChains } from '../purge/chains.ts'

const service = useService()

const cover = async () => coverAll({ sql: service.sql, signer: await openSigner(service.sql, null) })

async function get({ key }: Owner, id: string) {
  const headers = { authorization: `Bearer ${key}` }
  const {
    statusCode,
    headers: received,
    body,
  } = await request(`${service.url}/api/v1/consents/${id}/evidence`, { headers })
  return { status: statusCode, retryAfter: received['retry-after'], bytes: Buffer.from(await body.arrayBuffer()) }
}

async function readValid(bytes: Buffer): Promise<PackFiles> {
  const files = readPackArchive(bytes, 'the pack')
  expect((await verifyPack(files)).filter(({ result }) => result !== 'valid')).toEqual([])
  return files
}

const languages = ['de', 'en', 'fr', 'it', 'es', 'pt', 'nl', 'da', 'sv', 'fi', 'pl', 'cs', 'sk', 'hu', 'ro']

async function publishLargeNotice(owner: Owner): Promise<void> {
  const headers = await service.signIn(owner)
  const path = `/api/v1/sites/${owner.siteId}/notices/1`
  await service.call('PUT', path, { headers, body: {} })
  const body = mediaBytes('x'.repeat(2 ** 20), 'text/plain')
  for (const language of languages) await service.call('PUT', `${path}/texts/${language}`, { headers, body })
  expect((await service.call('POST', `${path}/publish`, { headers, body: {} })).status).toBe(200)
}

describe('GET /api/v1/consents/{id}/evidence', () => {
  it('when many packs of a large notice are requested at once, returns some, rejects the rest and stays live', async () => {
    const owner = await newOwner(service)
    await publishLargeNotice(owner)
    const { id } = await owner.create({ policy_version: 1 })
    await cover()
    const before = process.memoryUsage().arrayBuffers
    let [isDone, longestMs, peak] = [false, 0, 0]
    const probing = (async () => {
      while (!isDone) {
        const start = performance.now()
        await (await request(`${service.url}/live`)).body.dump()
        longestMs = Math.max(longestMs, performance.now() - start)
        peak = Math.max(peak, process.memoryUsage().arrayBuffers - before)
        await delay(5)
      }
    })()
    const answers = await Promise.all(Array.from({ length: 60 }, () => get(owner, id)))
    isDone = true
    await probing
    const made = answers.filter(({ status }) => status === 200)
    const refused = answers.filter(({ status }) => status !== 200)
    expect([made.length > 0, refused.length > 0]).toEqual([true, true])
    for (const { status, retryAfter } of refused) expect([status, retryAfter]).toEqual([503, '1'])
    expect(longestMs).toBeLessThan(500)
    expect(peak).toBeLessThan(300 * 2 ** 20)
    const files = await readValid(made[0]?.bytes ?? Buffer.alloc(0))
    expect([...files.keys()].filter(name => name.startsWith('notice/'))).toHaveLength(languages.length)
  })

  it('when its deadline has passed, stops', async () => {
    const owner = await newOwner(service)
    const { id } = await owner.create()
    await cover()
    await expect(makePack(owner, id, performance.now())).rejects.toMatchObject({ code: 'unavailable' })
  })

  it('when each of 109 events is in its own checkpoint, returns all of their proofs', {
    timeout: 120_000,
  }, async () => {
    const owner = await newOwner(service)
    const { id } = await owner.create()
    for (let version = 2; version <= 109; version += 1) {
      await cover()
      await owner.update(id, { accepted: version % 2 === 0 })
    }
    await cover()
    const { status, bytes } = await get(owner, id)
    expect(status).toBe(200)
    const names = [...(await readValid(bytes)).keys()]
    expect(names.filter(name => /^record-\d+\.inclusion/.test(name))).toHaveLength(107)
    expect(names.filter(name => name.endsWith('.consistency.json'))).toHaveLength(108)
  })

  it.each([true, false])('when there are more than 500 events, returns 409 (isLive: %s)', async isLive => {
    const owner = await newOwner(service)
    const [id = ''] = await insertChains(service.sql, owner, { records: 1, entries: 501, isLive })
    const { status, bytes } = await get(owner, id)
    expect([status, String(bytes)]).toEqual([409, expect.stringContaining('more than 500 events')])
  })

  it('when the newest checkpoint is less than a second old and lacks the record, waits and succeeds', async () => {
    const owner = await newOwner(service)
    await owner.create()
    await cover()
    const { id } = await owner.create()
    const { status, bytes } = await get(owner, id)
    expect(status).toBe(200)
    await readValid(bytes)
  })

  it.each([
    [200, false],
    [203, true],
  ])(
    'when the site has %i other entries, states that older ones were left out: %s',
    { timeout: 60_000 },
    async (count, isTruncated) => {
      const owner = await newOwner(service)
      const headers = await service.signIn(owner)
      const rename = async (id: string, name: string) => {
        const { status } = await service.call('PATCH', `/api/v1/sites/${id}`, { headers, body: { name } })
        expect(status).toBe(200)
      }
      const about = (id: string) => service.sql<{ count: number }[]>`
      select count(*)::integer as count from account_entries
      where account_id = ${owner.accountId} and document like ${`%"target": {"id": "${id}"%`}`
      const other = await service.call('POST', '/api/v1/sites', {
        headers,
        body: { name: 'x "target": {"id": "y' },
      })
      expect(other.status, other.text).toBe(201)
      const { id } = await owner.create()
      const [ofKey] = await about(owner.keyId)
      const [ofSite] = await about(owner.siteId)
      const present = (ofKey?.count ?? 0) + (ofSite?.count ?? 0)
      for (let entry = present; entry < count; entry += 1)
        await rename(owner.siteId, `x "target": {"id": "${other.body.id}" ${entry}`)
      await rename(other.body.id, 'other')
      await cover()
      const files = await readValid((await get(owner, id)).bytes)
      const entries = [...files].filter(([name]) => /^administration\/\d+\.json$/.test(name))
      expect(entries).toHaveLength(200)
      const targets = new Set(entries.map(([, document]) => JSON.parse(String(document)).target.id))
      expect(targets).not.toContain(other.body.id)
      const readme = String(files.get('README.txt'))
      expect([/left\s+out\s+older/.test(readme), readme.includes('(older entries')]).toEqual([isTruncated, isTruncated])
    },
  )
})

/** Calls `meanwhile` after the receipt was signed, before the log is read. */
async function makePack(owner: Owner, id: string, until: number, meanwhile: () => Promise<unknown> = async () => {}) {
  const signer = await openSigner(service.sql, null)
  const sign: Signer['sign'] = async (document, timeoutMs) => {
    const text = await signer.sign(document, timeoutMs)
    if (document.type === 'consent_receipt') await meanwhile()
    return text
  }
  const reads = {
    run: async (_: string, key: string, load: (keys: string[]) => Promise<unknown[]>) => (await load([key]))[0],
  }
  const caller = { accountId: owner.accountId, siteIds: null, kind: 'user', id: owner.userId } as const
  return await issuePack({ sql: service.sql, signer: { ...signer, sign }, reads } as never, caller as never, id, until)
}

describe('a pack', () => {
  const soon = () => performance.now() + 10_000

  it('when the log grows meanwhile, proves that the log only grew', async () => {
    const owner = await newOwner(service)
    const { id } = await owner.create()
    await cover()
    const bytes = await makePack(owner, id, soon(), async () => {
      await owner.create()
      await cover()
    })
    const files = await readValid(bytes)
    const { inclusion } = JSON.parse(String(files.get('receipt.json')))
    const { tree_size } = JSON.parse(inclusion.checkpoint)
    expect(String(files.get(`checkpoints/${tree_size}.json`))).toBe(inclusion.checkpoint)
    expect(JSON.parse(String(files.get(`checkpoints/${tree_size}.consistency.json`)))).toMatchObject({
      first: tree_size,
      second: JSON.parse(String(files.get('checkpoint.json'))).tree_size,
    })
  })

  it('when a key is rotated meanwhile, includes the new key, which signed its checkpoint', async () => {
    const { sql } = service
    const owner = await newOwner(service)
    const { id } = await owner.create()
    await cover()
    const [own, next] = [signingKeyOf((await findSecret(sql, 'signing')) ?? Buffer.alloc(0)), newSigningKey()]
    let rotated: Signer | undefined
    const bytes = await makePack(owner, id, soon(), async () => {
      rotated = await openSigner(sql, next, { earlier: [own] })
      await owner.create()
      await coverAll({ sql, signer: rotated })
    })
    const files = await readValid(bytes)
    expect(JSON.parse(String(files.get('checkpoint.json'))).key_id).toBe(rotated?.keyId)
    expect(JSON.parse(String(files.get(listFile))).key_id).not.toBe(rotated?.keyId)
    expect([...files.keys()]).toContain(`keys/${rotated?.keyId}.pem`)
  })
})
