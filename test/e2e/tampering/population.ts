import type { Sql } from 'postgres'
import type { Caller } from '../../../server/auth/caller.ts'
import { createConsent } from '../../../server/consents/create.ts'
import type { ConsentDeps } from '../../../server/consents/deps.ts'
import { newPolicies } from '../../../server/consents/deps.ts'
import { importRows } from '../../../server/consents/imports.ts'
import { originSecretName } from '../../../server/consents/origin.ts'
import type { Created } from '../../../server/consents/rows.ts'
import { deleteConsent, restoreConsent, updateConsent } from '../../../server/consents/service.ts'
import { Batcher } from '../../../server/db/batching.ts'
import { sharedSecret } from '../../../server/db/secrets.ts'
import { coverAll } from '../../../server/evidence/log.ts'
import type { Signer } from '../../../server/evidence/signer.ts'
import { nowhere } from '../../../server/net/geo.ts'
import { newPublishedNotices } from '../../../server/notices/published.ts'
import type { Consent, ConsentDraft } from '../../../src/contract/index.ts'
import { inTurns } from '../../server/consents/records.ts'
import { purgeNow } from '../../server/purge/purge.ts'
import { newAccount } from '../../support/service.ts'
import type { Chance } from './random.ts'

/**
 * Fills a database through the service itself, in some accounts and stages: records with several versions, deleted,
 * restored and purged ones, and a log with several checkpoints that covers all of it.
 */
export async function populate(
  sql: Sql,
  signer: Signer,
  chance: Chance,
  { accounts, records }: Record<'accounts' | 'records', number>,
) {
  const deps: ConsentDeps = {
    sql,
    config: { ipStorage: 'truncated' },
    geo: { lookup: () => nowhere } as ConsentDeps['geo'],
    originSecret: await sharedSecret(sql, originSecretName),
    policies: newPolicies(),
    notices: newPublishedNotices(),
    reads: new Batcher(),
    creates: new Batcher(),
  }
  const callers: (Caller & { siteId: string })[] = []
  for (let index = 0; index < accounts; index += 1) {
    const { accountId, siteId, keyId } = await newAccount(sql)
    callers.push({ accountId, siteIds: null, siteId, kind: 'api_key' as const, id: keyId })
  }
  for (const stage of [0, 1, 2]) {
    const share = Math.ceil(records / 3)
    await inTurns(
      Array.from({ length: share }, (_, index) => index),
      10,
      async index => {
        const caller = chance.one(callers)
        const draft = {
          site_id: caller.siteId,
          subject_id: `subject ${stage} ${index}`,
          consent_id: index % 2 ? 'banner' : undefined,
          user_agent: index % 3 ? 'Mozilla/5.0' : undefined,
          ip_address: index % 5 ? '203.0.113.7' : undefined,
          preferences: { index, marketing: index % 2 === 0 },
        }
        const { json } =
          chance.below(4) === 0
            ? await importOne(deps, caller, draft, `${stage} ${index}`)
            : await createConsent(deps, caller, draft, null)
        const consent = JSON.parse(json) as Consent
        const changes = chance.below(4)
        for (let n = 0; n < changes; n += 1) {
          await updateConsent(deps, caller, consent.id, { accepted: n % 2 === 0, preferences: { n, index } })
        }
        if (chance.below(8) === 0) {
          await deleteConsent(deps, caller, consent.id)
          await restoreConsent(deps, caller, consent.id, {})
        }
        if (chance.below(4) === 0) await deleteConsent(deps, caller, consent.id)
      },
    )
    if (stage === 0) await purgeNow(sql)
    await coverAll({ sql, signer })
  }
}

/** A record of up to three answers. */
async function importOne(deps: ConsentDeps, caller: Caller, draft: ConsentDraft, id: string): Promise<Created> {
  const changes = Array.from({ length: id.length % 3 }, (_, n) => ({
    ...{ given_at: `202${n + 1}-05-01T12:00:00Z`, accepted: n === 0, preferences: { n } },
  }))
  const origin = { system: 'elsewhere', id, ...(changes.length > 0 && { evidence: `proof of ${id}` }) }
  const told = { policy_version: 1, given_at: '2020-05-01T12:00:00Z', file_sha256: 'ab'.repeat(32), origin, changes }
  const [result] = await importRows(deps, caller, [{ ...draft, ...told }], { view: 'whole', newIds: new Map() })
  if (!result || result instanceof Error) throw result
  return result
}
