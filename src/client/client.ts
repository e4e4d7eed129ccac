import type * as z from 'zod'
import type { BatchRow } from '../contract/batch.ts'
import { consents } from '../contract/consents.ts'
import type { ConsentPage, ConsentQuery, Endpoint } from '../contract/index.ts'
import type { RowAnswer } from './batch.ts'
import { type Extent, type WalkedPage, walk } from './pages.ts'
import type { Connection } from './request.ts'
import type { Input, Parameter, Probed, Transport } from './transport.ts'

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

/** What a call is given; `onAnswer` and `onLost` hear of the answers themselves, and of those that were lost. */
type CallInput<E extends Endpoint> = Parameters<Method<E>>[0] & Pick<Input, 'onAnswer' | 'onLost'>

type Create = Method<typeof consents.create>

export interface Client {
  /**
   * The calls about records. A create goes with an Idempotency-Key, a fresh one unless it is given, so that it can be sent
   * again when its answer was lost, where the instance honours the key.
   */
  readonly consents: Omit<Methods<typeof consents>, 'create'> & {
    create(input: Parameters<Create>[0] & { idempotencyKey?: string | undefined }): ReturnType<Create>
  }
  /** Creates records with one request, where the instance offers that; each row has a key, with which it happens once. */
  createRows(rows: readonly BatchRow[]): Promise<RowAnswer[]>
  /** Calls any endpoint; the contract of what a command does not use is then not loaded. */
  call<E extends Endpoint>(endpoint: E, input: CallInput<E>): ReturnType<Method<E>>
  /** The same of an answer that is signed: its text as it came. That it is JSON is all that is looked at. */
  text<E extends Endpoint>(endpoint: E, input: CallInput<E>): Promise<string>
  /** The pages of a list of consents, one after the other. */
  pages(query: ConsentQuery, extent: Extent): AsyncGenerator<WalkedPage>
  /** The answer to one GET of a path, whatever it is; `limit` in milliseconds. Throws a NetworkError. */
  probe(path: string, limit: number): Promise<Probed>
  /**
   * Whether the instance has an endpoint, and of that a parameter; asked once, of its own
   * description. Throws where it cannot be asked.
   */
  offers(endpoint: Endpoint, parameter?: Parameter): Promise<boolean>
  /** Drops the connections, and ends what is still under way. */
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
  const send = async (endpoint: Endpoint, input: Input) => {
    const isCreate = endpoint === consents.create
    const keyed = isCreate ? { ...input, idempotencyKey: input.idempotencyKey ?? crypto.randomUUID() } : input
    return await (await open()).send(endpoint, keyed)
  }
  const methodsOfConsents = methods(consents, send)
  return {
    consents: methodsOfConsents,
    createRows: async rows => (await open()).sendRows(rows),
    call: <E extends Endpoint>(endpoint: E, input: CallInput<E>) =>
      send(endpoint, input) as ReturnType<Method<E>>,
    text: <E extends Endpoint>(endpoint: E, input: CallInput<E>) =>
      send(endpoint, { ...input, asText: true }) as Promise<string>,
    pages: (query, extent) =>
      walk(
        async asked => ({ first: (await send(consents.list, { query: asked })) as ConsentPage, rest: null }),
        query,
        extent,
      ),
    probe: async (path, limit) => (await open()).probe(path, limit),
    offers: async (endpoint, parameter) => (await open()).offers(endpoint, parameter),
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
