import type { KeyObject } from 'node:crypto'
import type { Sql } from 'postgres'
import {
  type DatabaseOptions,
  type KeyRevocationOrder,
  OperatorError,
  type ServerHost,
  type SigningKeyRow,
} from '../../src/contract/index.ts'
import { listIntroduced } from '../../src/evidence/key-chain.ts'
import { keyIdOf } from '../../src/evidence/keys.ts'
import { openShared } from '../admin.ts'
import { explainLoss } from '../db/open.ts'
import { listKeyStatements } from './queries.ts'
import { openSigner, readKeys, revokeKey, type Signer, signingSettings } from './signer.ts'

export async function revokeSigningKey(
  options: DatabaseOptions,
  { keyId, reason }: KeyRevocationOrder,
  host: ServerHost,
): Promise<SigningKeyRow[]> {
  return await withKeys(options, host, {}, (sql, signer) => revokeKey(sql, signer, { keyId, reason }))
}

/** Lets the environment's key follow the newest one, whose id is `lost`. @throws OperatorError if it is already known */
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
  work: (sql: Sql, signer: Signer) => Promise<unknown>,
): Promise<SigningKeyRow[]> {
  const { sql, config, close } = await openShared(options, host, { mayBeNew: false })
  try {
    const keys = await explainLoss(config, async () => {
      if (settings.lost !== undefined) await requireNew(sql, config.signingKey)
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

async function requireNew(sql: Sql, key: KeyObject | null): Promise<void> {
  if (!key)
    throw new OperatorError('SIGNING_KEY_FILE is not set: nothing was changed', {
      code: 'settings',
      hint: 'set it to the file of the new key. Without it the service signs with the key in its database',
    })
  const keyId = keyIdOf(key)
  const rows = await listKeyStatements(sql)
  if (!listIntroduced(rows.map(({ document }) => document)).includes(keyId)) return
  throw new OperatorError(`the key ${keyId} of SIGNING_KEY_FILE is already in the log of keys: nothing was changed`, {
    code: 'conflict',
    hint: 'start the server with it',
  })
}
