import { api } from '../contract/api.ts'
import type { Endpoint } from '../contract/endpoint.ts'
import { isCallError } from './errors.ts'
import type { Input } from './transport.ts'

/** An instance's description of its API (OpenAPI); null where it has none. Throws where it cannot be asked. */
export async function readDescription(
  deliver: (endpoint: Endpoint, input: Input) => Promise<unknown>,
): Promise<unknown> {
  try {
    return await deliver(api.description.get, {})
  } catch (error) {
    if (isCallError(error) && 'status' in error && error.status < 500 && error.status !== 429) return null
    throw error
  }
}

/** A parameter as OpenAPI names it. */
export interface Parameter {
  readonly in: 'query' | 'header'
  readonly name: string
}

/** Whether a description lists an endpoint, and of that a parameter. */
export function lists(description: unknown, { path, method }: Endpoint, parameter?: Parameter): boolean {
  const operation = at(description, 'paths', path.replace(/:(\w+)/g, '{$1}'), method.toLowerCase())
  if (parameter === undefined) return operation !== undefined
  const parameters = at(operation, 'parameters')
  return (
    Array.isArray(parameters) &&
    parameters.some(one => {
      const { name, in: place } = Object(one)
      return place === parameter.in && String(name).toLowerCase() === parameter.name.toLowerCase()
    })
  )
}

function at(value: unknown, ...names: string[]): unknown {
  return names.reduce((inner, name) => (Object(inner) as Record<string, unknown>)[name], value)
}
