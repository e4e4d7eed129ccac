import { hostname } from 'node:os'
import type { Client } from '../../client/client.ts'
import type { Context } from '../../context.ts'
import { type KeyDraft, keys } from '../../contract/keys.ts'
import { maskKey } from '../../settings/key.ts'
import type { Profile } from '../../settings/store.ts'
import { instanceOf } from '../instance.ts'
import { type SignInOptions, signIn } from '../sign-in.ts'

interface OwnKeyOptions extends SignInOptions {
  readonly keyName: string | undefined
  readonly scope: KeyDraft['scopes']
}

/** Signs in, makes a key for this machine and hands it to `store`; where that fails, the key is revoked again. */
export async function makeOwnKey(
  ctx: Context,
  { keyName, scope, ...who }: OwnKeyOptions,
  store: (apiKey: string, profile: Profile) => Promise<void>,
): Promise<void> {
  const before = ctx.settings.apiKey
  const email = who.email ?? ctx.settings.email?.value
  const name = keyName ?? `consentctl@${hostname()}`.slice(0, 100)
  const api = await signIn(ctx, who)
  const key = await api.call(keys.create, { body: { name, scopes: scope } })
  await ctx.say(`created key ${key.id} (${name}) on ${instanceOf(ctx)}`)
  try {
    await store(key.key, { email })
  } catch (error) {
    await takeBack(ctx, api, key.id)
    throw error
  }
  if (before?.atHand && before.source.includes('credentials.json'))
    await ctx.say(
      `note: the key that was stored before, ${maskKey(before.atHand)}, is valid until you revoke it: consentctl keys list`,
    )
}

/** Revokes a key that could not be stored, for nobody has its text; where that fails too, its id is told. */
async function takeBack(ctx: Context, api: Client, id: string): Promise<void> {
  try {
    await api.call(keys.revoke, { params: { id } })
    await ctx.warn(`key ${id} is revoked again, for it could not be stored`)
  } catch {
    await ctx.warn(`key ${id} could be neither stored nor revoked; try: consentctl keys revoke ${id}`)
  }
}
