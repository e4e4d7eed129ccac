import type { Sql } from 'postgres'
import { beforeAll, describe, expect, it } from 'vitest'
import { findPage } from '../../../server/consents/queries.ts'
import type { ListFilters } from '../../../server/consents/rows.ts'
import { wholeAccount } from '../../../server/db/reach.ts'
import { lastIdAt, noId } from '../../../server/ids.ts'
import { listRetained } from '../../../server/purge/retention-queries.ts'
import { type Retention, retentionStarts } from '../../../src/contract/index.ts'
import { type Seeded, seed } from '../../bench/seed.ts'
import { skippedOnCitus, useDatabase } from '../../support/database.ts'
import { newAccount } from '../../support/service.ts'
import { explained, planning, rowsOf } from './plans.ts'

const database = useDatabase()
const records = 20_000
const limit = 50

/**
 * Rows of the table that a page may look at: those it shows, one more of each run that is merged, and now and then a set
 * so small that PostgreSQL goes through all of it: the records of one subject, or those that are refused.
 */
const most = 250

let accountId: string
let seeded: Seeded

beforeAll(async () => {
  const account = await newAccount(database.sql)
  accountId = account.accountId
  seeded = await seed(database.sql, { accountId, siteId: account.siteId, records })
  await database.sql`
    update consents set given_at = created_at, origin_system = 'elsewhere' where right(id::text, 2) in ('00', '01', '02')`
  await database.sql`vacuum (analyze) consents`
})

/** Each filter by its name; `common` ones are of many records, `rare` ones of few. */
function filtersOf(): Record<string, Partial<ListFilters>> {
  const at = Date.now() - 3_600_000 - (records / 2) * 20_000 // in the middle
  return {
    'common site': { site_id: seeded.site },
    'rare site': { site_id: seeded.smallSite },
    'withered site': { site_id: seeded.witheredSite },
    'common subject': { subject_id: seeded.busySubject },
    'common label': { consent_id: seeded.commonLabel },
    'rare label': { consent_id: seeded.label },
    accepted: { accepted: true },
    refused: { accepted: false },
    until: { to: new Date(at).toISOString() },
    deleted: { include_deleted: true },
    imported: { imported: true },
    'not imported': { imported: false },
  }
}

const hasPlansElsewhere = skippedOnCitus('plans, which are those of other nodes')

describe.skipIf(hasPlansElsewhere).each(['force_custom_plan', 'force_generic_plan'])('with %s', mode => {
  it('reads hardly any row beyond the returned ones on page 1, with each filter and each pair of filters', async () => {
    const read = await planning(database.sql, mode, async tx => {
      const numbers: [name: string, rows: number][] = []
      for (const [name, some] of combined()) {
        numbers.push([name, await rowsRead(tx, sql => findPage(sql, wholeAccount(accountId), some, limit))])
      }
      return numbers
    })
    expect(read.length).toBeGreaterThan(40)
    expect(read.filter(([, rows]) => rows > most)).toEqual([])
  })

  it.each(retentionStarts)(
    'reads hardly any other row on a page of records that are retained after %s',
    async after => {
      const read = await planning(database.sql, mode, async tx => {
        const retention: Retention = { period: 'P1D', after }
        await tx`update sites set retention = ${tx.json(retention)} where account_id = ${accountId}`
        const place = { after: { at: '-infinity', id: noId }, last: { at: 'infinity', id: lastIdAt(Date.now()) } }
        return rowsRead(tx, sql =>
          listRetained(sql, { account_id: accountId, id: seeded.site, retention }, place, limit),
        )
      })
      expect(read).toBeLessThan(most)
    },
  )
})

/** No filter, each one, and each two of different kinds. */
function combined(): [name: string, Partial<ListFilters>][] {
  const single = Object.entries(filtersOf())
  const pairs = single.flatMap(([one, first], index) =>
    single
      .slice(index + 1)
      .filter(([, second]) => Object.keys(second).every(key => !(key in first)))
      .map(([other, second]): [string, Partial<ListFilters>] => [`${one}, ${other}`, { ...first, ...second }]),
  )
  return [['none', {}], ...single, ...pairs]
}

/** Returns how many rows of tables a statement reads, including those that it filters out. */
async function rowsRead(tx: Sql, work: (sql: Sql) => Promise<unknown>): Promise<number> {
  return rowsOf(await explained(tx, work))
}
