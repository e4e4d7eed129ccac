import type * as z from 'zod'
import type { ConsentPage, ConsentQuery, Endpoint, consents as endpoints, Route } from '../contract/index.ts'
import type { Row, RowResult } from './batch.ts'
import { consents } from './consents.ts'
import { type Extent, type PageResponse, type WalkedPage, walk } from './pages.ts'
import type { Input, Target } from './request.ts'
import type { Parameter, RawResponse, Transport } from './transport.ts'

type Part<Name extends string, Value> = undefined extends Value ? { [K in Name]?: undefined } : { [K in Name]: Value }

type Method<E> =
  E extends Endpoint<infer P, infer Q, infer B, infer R>
    ? (input: Part<'params', z.input<P>> & Part<'body', z.input<B>> & { query?: z.input<Q> }) => Promise<z.output<R>>
    : never

type CallInput<E extends Endpoint> = Parameters<Method<E>>[0] &
  Pick<Input, 'onResponse' | 'onLost' | 'isIdempotent' | 'checksId' | 'upload'>

type Methods = { readonly [Name in keyof typeof endpoints]: Method<(typeof endpoints)[Name]> }

/** Every method rejects with a CallError. */
export interface Client {
  /** Sends a new Idempotency-Key unless one is given. */
  readonly consents: Omit<Methods, 'create'> & {
    create(
      input: Parameters<Methods['create']>[0] & { idempotencyKey?: string | undefined },
    ): ReturnType<Methods['create']>
  }
  createRows(rows: readonly Row[], common?: Uint8Array): Promise<RowResult[]>
  call<E extends Endpoint>(endpoint: E, input: CallInput<E>): ReturnType<Method<E>>
  /** Returns the unchanged text of a signed response. */
  text<E extends Endpoint>(endpoint: E, input: CallInput<E>): Promise<string>
  bytes<E extends Endpoint>(endpoint: E, input: CallInput<E>): Promise<Buffer>
  pages(query: ConsentQuery, extent: Extent): AsyncGenerator<WalkedPage>
  /** Sends one GET without retries; any status is returned. */
  probe(path: string, timeoutMs: number): Promise<RawResponse>
  /** Checks the instance's OpenAPI description, read once. */
  supports(route: Route, parameter?: Parameter): Promise<boolean>
  close(): Promise<void>
}

export function clientOn(openTransport: () => Promise<Transport>): Client {
  let transport: Promise<Transport> | undefined
  const open = () => {
    transport ??= openTransport()
    return transport
  }
  const send = async (target: Target, input: Input) => {
    const isCreate = target.path === consents.create.path && target.method === 'POST'
    const keyed = isCreate ? { ...input, idempotencyKey: input.idempotencyKey ?? crypto.randomUUID() } : input
    return await (await open()).send(target, keyed)
  }
  const requestPages = async (query: ConsentQuery, stream: boolean) =>
    stream
      ? ((await send(consents.list, { query, as: 'pages' })) as PageResponse)
      : { first: (await send(consents.list, { query })) as ConsentPage, rest: null }
  return {
    consents: Object.fromEntries(
      Object.entries(consents).map(([name, target]) => [name, (input: Input) => send(target, input)]),
    ) as Client['consents'],
    createRows: async (...args) => (await open()).createRows(...args),
    call: <E extends Endpoint>(endpoint: E, input: CallInput<E>) => send(endpoint, input) as ReturnType<Method<E>>,
    text: <E extends Endpoint>(endpoint: E, input: CallInput<E>) =>
      send(endpoint, { ...input, as: 'text' }) as Promise<string>,
    bytes: <E extends Endpoint>(endpoint: E, input: CallInput<E>) =>
      send(endpoint, { ...input, as: 'bytes' }) as Promise<Buffer>,
    pages: (query, extent) => walk(requestPages, query, extent),
    probe: async (path, timeoutMs) => (await open()).probe(path, timeoutMs),
    supports: async (route, parameter) => (await open()).supports(route, parameter),
    close: async () => (await transport?.catch(() => undefined))?.close(),
  }
}
