import type * as z from 'zod'
import { consents } from '../contract/consents.ts'
import type { ConsentQuery, Endpoint } from '../contract/index.ts'
import { type Extent, type WalkedPage, walk } from './pages.ts'
import type { Probed } from './probe.ts'
import type { Connection, Input, Transport } from './transport.ts'

type Part<Name extends string, Value> = undefined extends Value
  ? { [K in Name]?: undefined }
  : { [K in Name]: Value }

/** A method that calls an endpoint: its parameters, query and body in, its response out. */
export type Method<E> =
  E extends Endpoint<infer P, infer Q, infer B, infer R>
    ? (
        input: Part<'params', z.input<P>> & Part<'body', z.input<B>> & { query?: z.input<Q> },
      ) => Promise<z.output<R>>
    : never

type Methods<Group> = { readonly [Name in keyof Group]: Method<Group[Name]> }

export interface Client {
  readonly consents: Methods<typeof consents>
  /** Calls any endpoint; the contract of what a command does not use is then not loaded. */
  call<E extends Endpoint>(endpoint: E, ...input: Parameters<Method<E>>): ReturnType<Method<E>>
  /** The pages of a list of consents, one after the other. */
  pages(query: ConsentQuery, extent: Extent): AsyncGenerator<WalkedPage>
  /** The answer to one GET of a path, whatever it is; `limit` in milliseconds. Throws a NetworkError. */
  probe(path: string, limit: number): Promise<Probed>
  close(): Promise<void>
}

/**
 * The service's API as methods, derived from the contract. The connection is asked for, and the HTTP library loaded,
 * with the first call: a command that sends nothing needs no key.
 */
export function createClient(connect: () => Promise<Connection>): Client {
  let transport: Promise<Transport> | undefined
  const open = () => {
    transport ??= Promise.all([connect(), import('./transport.ts')]).then(([connection, { openTransport }]) =>
      openTransport(connection),
    )
    return transport
  }
  const send = async (endpoint: Endpoint, input: Input) => (await open()).send(endpoint, input)
  const methodsOfConsents = methods(consents, send)
  return {
    consents: methodsOfConsents,
    call: <E extends Endpoint>(endpoint: E, ...[input]: Parameters<Method<E>>) =>
      send(endpoint, input) as ReturnType<Method<E>>,
    pages: (query, extent) => walk(methodsOfConsents.list, query, extent),
    probe: async (path, limit) => (await open()).probe(path, limit),
    close: async () => (await transport?.catch(() => undefined))?.close(),
  }
}

function methods<Group extends Record<string, Endpoint>>(
  group: Group,
  send: (endpoint: Endpoint, input: Input) => Promise<unknown>,
): Methods<Group> {
  const entries = Object.entries(group).map(([name, endpoint]) => [
    name,
    (input: Input) => send(endpoint, input),
  ])
  return Object.fromEntries(entries) as Methods<Group>
}
