import { expect, it, vi } from 'vitest'
import { originSecretName } from '../../../server/consents/origin.ts'
import { sharedSecret } from '../../../server/db/secrets.ts'
import { coverAccount } from '../../../server/evidence/log.ts'
import { openSigner } from '../../../server/evidence/signer.ts'
import { countAll } from '../../../server/stats/counting.ts'
import { getStats } from '../../../server/stats/service.ts'
import { randomFrom } from '../../e2e/campaign.ts'
import { useDatabase } from '../../support/database.ts'
import { newAccount } from '../../support/service.ts'
import { publishNotice } from '../consents/notices.ts'
import { purgeNow } from '../purge/purge.ts'
import { emptyAll, exportText, importBytes } from '../transfer/moved.ts'
import { Model } from './model.ts'

const database = useDatabase()

/** CONSENTCTL_TEST_STATS=200000 by hand. */
const records = Number(process.env['CONSENTCTL_TEST_STATS'] ?? 200)
const steps = records > 10_000 ? 40 : 15
const seed = Number(process.env['CONSENTCTL_TEST_SEED'] ?? Date.now() % 1_000_000)
const pace = { signal: new AbortController().signal }

it('statistics equal a count of every record, through creates, imports, updates, deletions, restores, purges and an export', {
  timeout: 3_600_000,
}, async () => {
  const { sql } = database
  const account = await newAccount(sql)
  const { accountId, siteId, keyId } = account
  const others = await sql<{ id: string }[]>`
    insert into sites (account_id, id, name, created_at, updated_at)
    select ${accountId}, gen_random_uuid(), 'site ' || n, now(), now() from generate_series(1, 3) n returning id`
  const random = randomFrom(seed)
  const sites = [siteId, ...others.map(({ id }) => id)]
  const originSecret = await sharedSecret(sql, originSecretName) // which moves with an export
  const caller = { accountId, siteIds: null, kind: 'api_key', id: keyId } as const
  const [, named = ''] = sites
  await publishNotice(
    database,
    { accountId, siteId: named },
    { version: 2, languages: ['en'], purposes: ['marketing'] },
  )
  const purposesOf = (site: string, policy: number) => (site === named && policy === 2 ? ['marketing'] : [])
  const days = records > 10_000 ? 400 : 45
  const model = new Model({ sql, caller, sites, random, days, originSecret, purposesOf })
  const signer = await openSigner(sql, null)
  const share = (part: number) => Math.ceil((records * part) / steps)
  const checkpoint = async () => {
    for await (const _ of coverAccount({ sql, signer }, accountId));
  }
  const count = () => countAll(sql, pace)
  const compare = async (queries: number) => {
    for (let index = 0; index < queries; index += 1) {
      const query = model.randomQuery()
      const { as_of, complete, uncounted: _, truncated, groups, ...answer } = await getStats(sql, caller, query)
      expect(truncated).toBe(false)
      if (!complete) return // it does not have everything, and says so
      const own = groups.map(({ site_name: __, ...group }) => group)
      expect({ query, ...answer, groups: own }, `seed ${seed}`).toEqual({ query, ...model.count(query) })
    }
  }
  for (let step = 0; step < steps; step += 1) {
    const size = share(0.5 + random())
    for (let made = 0; made < size; made += 500) await model.create(Math.min(500, size - made))
    await model.import(share(random() * 0.4))
    await model.update(share(random() * 0.4))
    await model.delete(share(random() * 0.2))
    await model.restore(share(random() * 0.05))
    if (random() < 0.4) await checkpoint()
    if (random() < 0.5) await count()
    await compare(2)
    if (random() < 0.3) {
      await purgeNow(sql)
      await compare(4) // nothing changes by it
      model.purged()
    }
  }
  await purgeNow(sql)
  model.purged()
  await checkpoint()
  await Promise.all([count(), count(), count()])
  await compare(20)
  const exported = await exportText(sql)
  await emptyAll(sql)
  expect(await importBytes(sql, Buffer.from(exported), 65_536)).toMatchObject({ records: model.records.length })
  await compare(20)
  expect(vi.isFakeTimers()).toBe(false)
})
