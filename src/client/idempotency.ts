import { api, type Endpoint } from '../contract/index.ts'
import { isCallError } from './errors.ts'
import type { Input } from './transport.ts'

/**
 * Whether an instance does a create once however often it is sent with one Idempotency-Key: its own description of its
 * API lists the header. An instance without a description honours none. Throws where it cannot be asked.
 */
export async function readHonoursKey(
  deliver: (endpoint: Endpoint, input: Input) => Promise<unknown>,
): Promise<boolean> {
  try {
    const document = await deliver(api.description.get, {})
    const operation = at(document, 'paths', api.consents.create.path, 'post', 'parameters')
    const parameters = Array.isArray(operation) ? operation : []
    return parameters.some(parameter => {
      const { name, in: place } = Object(parameter)
      return place === 'header' && String(name).toLowerCase() === 'idempotency-key'
    })
  } catch (error) {
    if (isCallError(error) && 'status' in error && error.status < 500 && error.status !== 429) return false
    throw error
  }
}

function at(value: unknown, ...names: string[]): unknown {
  return names.reduce((inner, name) => (Object(inner) as Record<string, unknown>)[name], value)
}
