import type { DatabaseOptions, KeyRevocationOrder, ServerHost, SigningKeyRow } from '../../src/contract/index.ts'
import { openShared } from '../admin.ts'
import { explainLoss } from '../db/open.ts'
import { openSigner, readKeys, revokeKey, type Signer, signingSettings } from './signer.ts'

export async function revokeSigningKey(
  options: DatabaseOptions,
  { keyId, reason }: KeyRevocationOrder,
  host: ServerHost,
): Promise<SigningKeyRow[]> {
  return await withKeys(options, host, {}, (sql, signer) => revokeKey(sql, signer, { keyId, reason }))
}

/** Lets the environment's key follow the newest one, whose id is `lost`. */
export async function restartSigningKeys(
  options: DatabaseOptions,
  lost: string,
  host: ServerHost,
): Promise<SigningKeyRow[]> {
  return await withKeys(options, host, { lost }, async () => {})
}

async function withKeys(
  options: DatabaseOptions,
  host: ServerHost,
  settings: { readonly lost?: string },
  work: (sql: Parameters<typeof revokeKey>[0], signer: Signer) => Promise<unknown>,
): Promise<SigningKeyRow[]> {
  const { sql, config, close } = await openShared(options, host, { mayBeNew: false })
  try {
    const keys = await explainLoss(config, async () => {
      const signer = await openSigner(sql, config.signingKey, { ...signingSettings(config), ...settings })
      await work(sql, signer)
      return (await readKeys(sql, signer.keyId)).keys
    })
    return [...keys.values()].map(({ keyId, notBefore, revocation }) => ({
      key_id: keyId,
      state: revocation ? (revocation.isCompromised ? 'compromised' : 'superseded') : 'valid',
      not_before: notBefore,
      revoked_at: revocation?.at ?? null,
    }))
  } finally {
    await close()
  }
}
