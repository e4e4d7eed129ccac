import { beforeAll, describe, expect, it } from 'vitest'
import { toArrayLiteral } from '../../../server/db/fragments.ts'
import { wholeAccount } from '../../../server/db/reach.ts'
import { findNearMatches } from '../../../server/subjects/queries.ts'
import { casePairs } from '../../support/case-pairs.ts'
import { skippedOnCitus } from '../../support/database.ts'
import { useService } from '../../support/service.ts'
import { newImporter } from '../consents/imports.ts'
import { explained, type PlanNode, planning } from '../consents/plans.ts'
import { newOwner, type Owner } from '../consents/records.ts'
import { purgeNow } from '../purge/purge.ts'

const service = useService()
let owner: Owner
beforeAll(async () => {
  owner = await newOwner(service)
})

const ask = (subject_id: string, own: { key: string } = owner) =>
  service.call('POST', '/api/v1/subjects/near-matches', { key: own.key, body: { subject_id } })

/** Identifiers that are near matches of each other, and of no other group. */
const groups = [
  [
    'maria@example.com',
    'Maria@Example.com',
    ' maria@example.com',
    'MARIA@EXAMPLE.COM\t\r\n',
    'maria@example.com\u00a0',
  ],
  ['m\u00fcller', 'mu\u0308ller', 'M\u00dcLLER', '\u3000MU\u0308LLER '],
  ['\u03bc\u03b1\u03c1\u03af\u03b1\u03c2', '\u039c\u0391\u03a1\u0399\u0301\u0391\u03a3'],
  ['\u0449\u0443\u043a\u0456\u043d\u0430\u0439', '\u0429\u0423\u041a\u0406\u041d\u0410\u0419'],
  ['\u00e6r\u00f8 \u0142\u0105ka stra\u00dfe', '\u00c6R\u00d8 \u0141\u0104KA STRA\u1e9eE'],
  ['li@example.com', '\uff2c\uff49@example.com'],
  [
    '\u04d9\u043b\u0438\u044f@example.kz',
    '\u04d8\u041b\u0418\u042f@EXAMPLE.KZ',
    '\u04d9\u043b\u0438\u044f@example.kz\u2003',
  ],
  ['\u0130brahim', 'ibrahim', 'i\u0307brahim', '\u0131brahim', 'IBRAHIM'],
  ['maria @example.com'],
  ['mari@example.com'],
  ['ma\u0301ria@example.com'],
  ['\ufdfa'.repeat(255)],
  ['\u{1d160}'.repeat(255)],
]

describe('POST /api/v1/subjects/near-matches › 200', () => {
  it('finds exactly the identifiers that differ in case, surrounding blanks or Unicode form', async () => {
    for (const subject_id of groups.flat()) await owner.create({ subject_id })
    const stranger = await newOwner(service)
    await stranger.create({ subject_id: 'MARIA@example.com' })
    for (const group of groups)
      for (const given of group) {
        const { status, body } = await ask(given)
        const others = group.filter(each => each !== given).sort()
        const data = others.map(subject_id => ({ subject_id, live: 1, deleted: 0 }))
        expect([given, status, body]).toEqual([given, 200, { total: data.length, data }])
      }
    expect((await ask('Maria@example.com')).body.total).toBe(5)
  })

  it('finds both identifiers of every simple Unicode case pair, created singly, in a batch and by an import', async () => {
    const pairs = casePairs()
    expect(pairs.length).toBeGreaterThan(1400)
    const own = await newImporter(service)
    const groups = Array.from({ length: Math.ceil(pairs.length / 30) }, (_, index) => {
      const some = pairs.slice(30 * index, 30 * (index + 1))
      return [0, 1].map(side => `${index}:${some.map(pair => pair[side]).join('-')}`)
    })
    const [alone, batch, imported] = [0, 1, 2].map(part => groups.filter((_, index) => index % 3 === part).flat())
    await Promise.all((alone ?? []).map(subject_id => own.create({ subject_id })))
    const records = (batch ?? []).map(subject_id => ({ site_id: own.siteId, subject_id }))
    expect((await service.call('POST', '/api/v1/consents/batch', { key: own.key, body: { records } })).status).toBe(200)
    await own.sendAll((imported ?? []).map((subject_id, index) => ({ ...own.row(`row ${index}`), subject_id })))
    for (const [one = '', other = ''] of groups.flatMap(([one, other]) => [
      [one, other],
      [other, one],
    ]))
      expect([one, (await ask(one, own)).body.data]).toEqual([one, [{ subject_id: other, live: 1, deleted: 0 }]])
  })

  it('counts live and deleted records, but no purged ones, and takes at most one unit', async () => {
    const own = await newOwner(service)
    const ids = await Promise.all([1, 2, 3].map(() => own.create({ subject_id: 'Maria' })))
    await own.remove(ids[0]?.id ?? '')
    expect((await ask('maria', own)).body).toEqual({ total: 1, data: [{ subject_id: 'Maria', live: 2, deleted: 1 }] })
    for (const { id } of ids.slice(1)) await own.remove(id)
    await purgeNow(service.sql)
    expect((await ask('maria', own)).body).toEqual({ total: 0, data: [] })
    await service.sql`update accounts set monthly_quota = 0 where account_id = ${own.accountId}`
    await service.quota.settle()
    expect((await ask('maria', own)).status).toBe(200)
  })

  it('returns the first 100, and counts all', async () => {
    const own = await newOwner(service)
    const spelled = (index: number) => [...'abcdefg'].map((c, n) => (index & (1 << n) ? c.toUpperCase() : c)).join('')
    await service.sql`
      insert into consents (account_id, id, site_id, subject_id, near_subject, accepted, preferences, policy_version, version,
        record_hash, chain_head, created_at, updated_at)
      select ${own.accountId}, gen_random_uuid(), ${own.siteId}, s, nullif('abcdefg', s), true, '{}', 1, 1, '', '', now(), now()
      from unnest(${toArrayLiteral(Array.from({ length: 128 }, (_, index) => spelled(index)))}::text[]) s`
    const { body } = await ask('abcdefg', own)
    expect([body.total, body.data.length, body.data[0].subject_id]).toEqual([127, 100, 'ABCDEFG'])
  })
})

it.skipIf(skippedOnCitus('its plans are text')).each([['custom'], ['generic']])(
  'near matches are found through indexes only, with a %s plan',
  async kind => {
    const own = await newOwner(service)
    await service.sql`
    insert into consents (account_id, id, site_id, subject_id, near_subject, accepted, preferences, policy_version, version,
      record_hash, chain_head, created_at, updated_at)
    select ${own.accountId}, gen_random_uuid(), ${own.siteId}, case when n % 10 = 0 then 'Person ' else 'person ' end || n,
      case when n % 10 = 0 then 'person ' || n end, true, '{}', 1, 1, '', '', now(), now()
    from generate_series(1, 2000) n`
    await service.sql`analyze consents`
    const plan = await planning(service.sql, `force_${kind}_plan`, tx =>
      explained(tx, sql =>
        findNearMatches(sql, wholeAccount(own.accountId), { subjectId: 'PERSON 50', form: 'person 50' }, 100),
      ),
    )
    const steps = (node: PlanNode): PlanNode[] => [node, ...(node.Plans ?? []).flatMap(steps)]
    const scans = steps(plan).filter(node => 'Relation Name' in node && node['Relation Name'] === 'consents')
    expect(scans.map(node => node['Actual Rows'])).toEqual([0, 1])
    for (const node of steps(plan)) expect(node['Rows Removed by Filter'] ?? 0).toBe(0)
  },
)
