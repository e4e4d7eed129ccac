import type { Sql } from 'postgres'
import { beforeAll, describe, expect, it } from 'vitest'
import { buildRecord } from '../../../server/consents/create.ts'
import { claimKey } from '../../../server/consents/idempotency.ts'
import { findFirstAnswers, insertConsents } from '../../../server/consents/insert-queries.ts'
import { noId } from '../../../server/ids.ts'
import { findLooseOrigins, listVersions } from '../../../server/verify/queries.ts'
import type { ConsentDraft } from '../../../src/contract/index.ts'
import { skippedOnCitus, useDatabase } from '../../support/database.ts'
import { newAccount, type TestAccount } from '../../support/service.ts'
import { explained, type PlanNode, planning } from './plans.ts'

const database = useDatabase()
const rows = 500
let account: TestAccount
beforeAll(async () => {
  account = await newAccount(database.sql)
})

/** Builds a batch of records with keys. */
function newBatch({ accountId, siteId, keyId: id } = account) {
  const actor = { kind: 'api_key', id } as const
  const draft = { site_id: siteId, subject_id: 'somebody' } as ConsentDraft
  const own = Array.from({ length: rows }, (_, index) => ({
    record: buildRecord({ config: { ipStorage: 'drop' }, geo: { lookup: () => never() } }, actor, draft, 1),
    isSitesPolicy: true,
    claim: claimKey(`key ${index}`, draft),
  }))
  return { accountId, batch: { rows: own, actor, freeBefore: new Date(0), view: 'minimal' } as const }
}

function never(): never {
  throw new Error('no draft has an address')
}

const hasPlansElsewhere = skippedOnCitus('plans, which are those of other nodes')

describe.skipIf(hasPlansElsewhere).each(['force_custom_plan', 'force_generic_plan'])(
  'insertConsents › plan with %s',
  mode => {
    it('reads a number of rows proportional to the batch', async () => {
      const plan = await planning(database.sql, mode, async tx => {
        await forceNestedLoops(tx)
        const { accountId, batch: own } = newBatch()
        return explained(tx, sql => insertConsents(sql, accountId, own))
      })
      expect(plan['Actual Rows']).toBe(rows)
      expect(countRowsRead(plan)).toBeLessThan(30 * rows)
    })
  },
)

describe.skipIf(hasPlansElsewhere).each(['force_custom_plan', 'force_generic_plan'])(
  'findFirstAnswers › plan with %s',
  mode => {
    it('reads a number of rows proportional to the keys, not to the records', async () => {
      const asked = 50
      const plan = await planning(database.sql, mode, async tx => {
        await forceNestedLoops(tx)
        const { accountId, batch: own } = newBatch()
        await insertConsents(tx, accountId, own)
        const keys = own.rows.slice(0, asked).map(({ claim }) => claim.key)
        const found = await explained(tx, sql =>
          findFirstAnswers(sql, accountId, keys, { freeBefore: new Date(0), view: 'whole' }),
        )
        await tx`delete from idempotency_keys`
        return found
      })
      expect(plan['Actual Rows']).toBe(asked)
      expect(countRowsRead(plan)).toBeLessThan(30 * asked)
    })
  },
)

describe.skipIf(hasPlansElsewhere).each(['force_custom_plan', 'force_generic_plan'])(
  'findLooseOrigins, listVersions › plan with %s',
  mode => {
    it('when the account is newer than the statistics, read a number of rows proportional to the page', async () => {
      const plans = await planning(database.sql, mode, async tx => {
        await insertImported(tx, account)
        await tx`analyze consents, origins`
        const newer = await newAccount(tx)
        await insertImported(tx, newer)
        return [
          await explained(tx, sql => findLooseOrigins(sql, newer.accountId, noId, rows)),
          await explained(tx, sql => listVersions(sql, newer.accountId, {}, null)),
        ]
      })
      expect(Math.max(...plans.map(countRowsRead))).toBeLessThan(30 * rows)
    })
  },
)

async function insertImported(tx: Sql, of: TestAccount): Promise<void> {
  const { accountId, batch: own } = newBatch(of)
  await insertConsents(tx, accountId, own)
  await tx`
    insert into origins select account_id, sha256(id::text::bytea), id, null from consents
    where account_id = ${accountId} on conflict do nothing`
}

/** Has the planner choose joins as if it estimated few rows. */
async function forceNestedLoops(tx: Sql): Promise<void> {
  await tx`set local enable_hashjoin = off`
  await tx`set local enable_mergejoin = off`
}

/** Returns the number of rows that all steps of a plan have read. */
function countRowsRead(node: PlanNode): number {
  const own = (node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0)) * node['Actual Loops']
  return (node.Plans ?? []).map(countRowsRead).reduce((sum, looks) => sum + looks, own)
}
