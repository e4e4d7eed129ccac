import { isDeepStrictEqual } from 'node:util'
import { consents } from '../contract/consents.ts'
import type { Endpoint } from '../contract/index.ts'
import { ApiError, isCallError } from './errors.ts'
import type { Deliver, Input } from './request.ts'

/** Repeats a call that the instance may have carried out. */
export async function repeat(endpoint: Endpoint, input: Input, deliver: Deliver): Promise<unknown> {
  if (endpoint.method === 'PUT' && !input.upload) return await repeatChange(endpoint, input, deliver)
  if (endpoint.method === 'DELETE') return await repeatRemoval(endpoint, input, deliver)
  return await deliver(endpoint, input)
}

/** Returns the resource if it has the change already: sending it again could undo another caller's. */
async function repeatChange(endpoint: Endpoint, input: Input, deliver: Deliver): Promise<unknown> {
  try {
    const present = await deliver({ ...endpoint, method: 'GET' }, { params: input.params })
    const wanted = Object.entries(JSON.parse(JSON.stringify(input.body ?? {})))
    const fields = Object(present)
    if (wanted.every(([name, value]) => isDeepStrictEqual(fields[name], value))) return present
  } catch (error) {
    if (!isCallError(error) || error.maybeDone) throw error
  }
  return await deliver(endpoint, input)
}

/** Takes `not_found` as success, unless the resource can still be read and is not deleted. */
async function repeatRemoval(endpoint: Endpoint, input: Input, deliver: Deliver): Promise<unknown> {
  try {
    return await deliver(endpoint, input)
  } catch (error) {
    if (!(error instanceof ApiError) || error.code !== 'not_found') throw error
    const removed = await readRemoved(endpoint, input, deliver).catch(() => undefined)
    if (Object(removed).deleted_at === null) throw error
    if (removed !== undefined) return removed
    const nothing = endpoint.response.safeParse(null)
    if (nothing.success) return nothing.data
    throw error
  }
}

async function readRemoved({ path }: Endpoint, { params }: Input, deliver: Deliver): Promise<unknown> {
  const { id } = (params ?? {}) as { id?: string }
  if (path === consents.remove.path) return await deliver(consents.get, { params, query: { include_deleted: true } })
  const { keys } = await import('../contract/keys.ts')
  if (path !== keys.revoke.path) throw new Error('this resource cannot be read once it is removed')
  const { data } = (await deliver(keys.list, {})) as { data: { id: string; revoked_at: string | null }[] }
  const key = data.find(each => each.id === id && each.revoked_at !== null)
  if (!key) throw new Error('no such key')
  return key
}
