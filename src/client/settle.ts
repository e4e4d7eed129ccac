import { isDeepStrictEqual } from 'node:util'
import { consents } from '../contract/consents.ts'
import type { Endpoint } from '../contract/index.ts'
import { ApiError, isCallError } from './errors.ts'
import type { Input } from './transport.ts'

type Deliver = (endpoint: Endpoint, input: Input) => Promise<unknown>

/** Sends a change again whose answer was lost; unless what it changes is by now as it is to be, and that is returned. */
export async function changeAgain(endpoint: Endpoint, input: Input, deliver: Deliver): Promise<unknown> {
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

/**
 * Sends a removal again whose answer was lost. That there is nothing any more then says that it was carried out: what is
 * still known of the thing is returned. What can still be read, and is not deleted, was not removed.
 */
export async function removeAgain(endpoint: Endpoint, input: Input, deliver: Deliver): Promise<unknown> {
  try {
    return await deliver(endpoint, input)
  } catch (error) {
    if (!(error instanceof ApiError) || error.code !== 'not_found') throw error
    const left = await whatIsLeft(endpoint, input, deliver).catch(() => undefined)
    if (isLive(left)) throw error
    if (left !== undefined) return left
    const nothing = endpoint.response.safeParse(null)
    if (nothing.success) return nothing.data
    throw error
  }
}

function isLive(left: unknown): boolean {
  return Object(left).deleted_at === null
}

async function whatIsLeft({ path }: Endpoint, { params }: Input, deliver: Deliver): Promise<unknown> {
  const { id } = (params ?? {}) as { id?: string }
  if (path === consents.remove.path) {
    return await deliver(consents.get, { params, query: { include_deleted: true } })
  }
  const { keys } = await import('../contract/keys.ts')
  if (path !== keys.revoke.path) throw new Error('nothing tells')
  const { data } = (await deliver(keys.list, {})) as { data: { id: string; revoked_at: string | null }[] }
  const key = data.find(each => each.id === id && each.revoked_at !== null)
  if (!key) throw new Error('no such key')
  return key
}
