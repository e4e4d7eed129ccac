import { isDeepStrictEqual } from 'node:util'
import { consents } from './consents.ts'
import { ApiError, isCallError } from './errors.ts'
import type { Deliver, Input, Target } from './request.ts'
import { responseSchema } from './response.ts'

export async function repeat(target: Target, input: Input, deliver: Deliver): Promise<unknown> {
  if (target.method === 'PUT' && !input.upload) return await repeatChange(target, input, deliver)
  if (target.method === 'DELETE') return await repeatRemoval(target, input, deliver)
  return await deliver(target, input)
}

/** Returns the resource if it has the change: sending it again could undo another caller's. */
async function repeatChange(target: Target, input: Input, deliver: Deliver): Promise<unknown> {
  try {
    const present = await deliver({ ...target, method: 'GET' }, { params: input.params })
    const wanted = Object.entries(JSON.parse(JSON.stringify(input.body ?? {})))
    const fields = Object(present)
    if (wanted.every(([name, value]) => isDeepStrictEqual(fields[name], value))) return present
  } catch (error) {
    if (!isCallError(error) || error.maybeDone) throw error
  }
  return await deliver(target, input)
}

/** `not_found` is success unless the resource can still be read and is not deleted. */
async function repeatRemoval(target: Target, input: Input, deliver: Deliver): Promise<unknown> {
  try {
    return await deliver(target, input)
  } catch (error) {
    if (!(error instanceof ApiError) || error.code !== 'not_found') throw error
    const removed = await readRemoved(target, input, deliver).catch(() => undefined)
    if (Object(removed).deleted_at === null) throw error
    if (removed !== undefined) return removed
    const nothing = (await responseSchema(target)).safeParse(null)
    if (nothing.success) return nothing.data
    throw error
  }
}

async function readRemoved({ path }: Target, { params }: Input, deliver: Deliver): Promise<unknown> {
  const { id } = (params ?? {}) as { id?: string }
  if (path === consents.remove.path) return await deliver(consents.get, { params, query: { include_deleted: true } })
  const { keys } = await import('../contract/keys.ts')
  if (path !== keys.revoke.path) throw new Error('this resource cannot be read once it is removed')
  const { data } = (await deliver(keys.list, {})) as { data: { id: string; revoked_at: string | null }[] }
  const key = data.find(each => each.id === id && each.revoked_at !== null)
  if (!key) throw new Error('no such key')
  return key
}
