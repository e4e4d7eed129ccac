import type * as z from 'zod'
import type { BatchRow } from '../contract/batch.ts'
import { consents } from '../contract/consents.ts'
import type { ConsentPage, ConsentQuery, Endpoint } from '../contract/index.ts'
import type { RowResult } from './batch.ts'
import { type Extent, type PageResponse, type WalkedPage, walk } from './pages.ts'
import type { Connection, Input } from './request.ts'
import type { Parameter, RawResponse, Transport } from './transport.ts'

type Part<Name extends string, Value> = undefined extends Value
  ? { [K in Name]?: undefined }
  : { [K in Name]: Value }

/** A method that calls an endpoint: takes its parameters, query and body, and returns its response. */
export type Method<E> =
  E extends Endpoint<infer P, infer Q, infer B, infer R>
    ? (
        input: Part<'params', z.input<P>> & Part<'body', z.input<B>> & { query?: z.input<Q> },
      ) => Promise<z.output<R>>
    : never

type Methods<Group> = { readonly [Name in keyof Group]: Method<Group[Name]> }

type CallInput<E extends Endpoint> = Parameters<Method<E>>[0] &
  Pick<Input, 'onResponse' | 'onLost' | 'isIdempotent'>

type Create = Method<typeof consents.create>

/** The service's API. Every method rejects with a CallError. */
export interface Client {
  /**
   * The calls about records. A create has an Idempotency-Key, a fresh one unless it is given, so that it can be retried if the
   * instance supports the key.
   */
  readonly consents: Omit<Methods<typeof consents>, 'create'> & {
    create(input: Parameters<Create>[0] & { idempotencyKey?: string | undefined }): ReturnType<Create>
  }
  /** Creates records with one request, if the instance supports that. Each row has a key, so it happens once. */
  createRows(rows: readonly BatchRow[]): Promise<RowResult[]>
  /** Calls any endpoint. The contract is loaded by the commands that use it. */
  call<E extends Endpoint>(endpoint: E, input: CallInput<E>): ReturnType<Method<E>>
  /** Calls an endpoint whose response is signed: returns its text unchanged, checked to be JSON and no more. */
  text<E extends Endpoint>(endpoint: E, input: CallInput<E>): Promise<string>
  /** Yields the pages of a list of consents. */
  pages(query: ConsentQuery, extent: Extent): AsyncGenerator<WalkedPage>
  /** Sends one GET without retries, and returns the response whatever it is. */
  probe(path: string, timeoutMs: number): Promise<RawResponse>
  /** Resolves to true if the instance's OpenAPI description has an endpoint, and a parameter of it. It is read once. */
  supports(endpoint: Endpoint, parameter?: Parameter): Promise<boolean>
  /** Drops the connections, and ends running requests. */
  close(): Promise<void>
}

/**
 * Derives the service's API from the contract. The connection is made and the transport loaded with the first call: a
 * command that sends nothing needs no key.
 */
export function createClient(connect: () => Promise<Connection>): Client {
  let transport: Promise<Transport> | undefined
  const open = () => {
    transport ??= Promise.all([connect(), import('./transport.ts')]).then(([connection, { openTransport }]) =>
      openTransport(connection),
    )
    return transport
  }
  const send = async (endpoint: Endpoint, input: Input) => {
    const isCreate = endpoint === consents.create
    const keyed = isCreate ? { ...input, idempotencyKey: input.idempotencyKey ?? crypto.randomUUID() } : input
    return await (await open()).send(endpoint, keyed)
  }
  const requestPages = async (query: ConsentQuery, stream: boolean) =>
    stream
      ? ((await send(consents.list, { query, as: 'pages' })) as PageResponse)
      : { first: (await send(consents.list, { query })) as ConsentPage, rest: null }
  return {
    consents: methodsOf(consents, send),
    createRows: async rows => (await open()).createRows(rows),
    call: <E extends Endpoint>(endpoint: E, input: CallInput<E>) =>
      send(endpoint, input) as ReturnType<Method<E>>,
    text: <E extends Endpoint>(endpoint: E, input: CallInput<E>) =>
      send(endpoint, { ...input, as: 'text' }) as Promise<string>,
    pages: (query, extent) => walk(requestPages, query, extent),
    probe: async (path, timeoutMs) => (await open()).probe(path, timeoutMs),
    supports: async (endpoint, parameter) => (await open()).supports(endpoint, parameter),
    close: async () => (await transport?.catch(() => undefined))?.close(),
  }
}

function methodsOf<Group extends Record<string, Endpoint>>(
  group: Group,
  send: (endpoint: Endpoint, input: Input) => Promise<unknown>,
): Methods<Group> {
  const entries = Object.entries(group).map(([name, endpoint]) => [
    name,
    (input: Input) => send(endpoint, input),
  ])
  return Object.fromEntries(entries) as Methods<Group>
}
