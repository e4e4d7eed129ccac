import * as z from 'zod'
import type { ErrorCode } from './errors.ts'

export const scopes = ['read', 'write', 'erase', 'notices', 'import'] as const
export type Scope = (typeof scopes)[number]

/** Scopes of a key that is created without any. */
export const defaultScopes: readonly Scope[] = ['read', 'write', 'erase']

/**
 * `account`: an API key or a dashboard session; `session`: a session only; `site_token`: a browser with a site's
 * token.
 */
export type Access = 'anyone' | 'account' | 'session' | 'site_token'

export interface Endpoint<
  Params extends z.ZodType = z.ZodType,
  Query extends z.ZodType = z.ZodType,
  Body extends z.ZodType = z.ZodType,
  Response extends z.ZodType = z.ZodType,
> {
  readonly summary: string
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  readonly path: `/${string}`
  readonly access: Access
  /**
   * Scope that an API key needs; one of several is enough. An owner's session has all, a reader's `read` and every
   * GET.
   */
  readonly scope?: Scope | readonly Scope[]
  /** True if a reader may call it although it changes something, which must be the reader's own. */
  readonly allowsReader?: boolean
  /**
   * Monthly quota for API keys. Default: takes a unit, rejected if none is left. `optional`: takes a unit if one is
   * left. `free`: takes none.
   */
  readonly unit?: 'optional' | 'free'
  /** True if it writes nothing but states the present time: it is rejected while the service's clock is wrong. */
  readonly statesTime?: boolean
  readonly params?: Params
  readonly query?: Query
  readonly body?: Body
  /** Media types of a request body that is not JSON. */
  readonly bodyMedia?: readonly string[]
  readonly status: 200 | 201 | 204
  readonly response: Response
  /** Media types of a success that is not JSON; `response` is then not used. */
  readonly media?: readonly string[]
  /** True if `Accept: application/x-ndjson` returns this and all further pages as lines. */
  readonly streams?: boolean
  /** Errors in addition to those of access, parameters and body. */
  readonly errors?: readonly ErrorCode[]
}

export interface HeaderDocs {
  readonly description: string
  readonly required?: boolean
  readonly schema: Readonly<Record<string, unknown>>
  readonly example: string | number
}

/** Markdown for the OpenAPI document. Separate from the endpoint, so that bundling the client drops it. */
export interface EndpointDocs {
  readonly description?: string
  /** Default: `Done.`, or `Created.` for 201. */
  readonly success?: string
  readonly requestHeaders?: Readonly<Record<string, HeaderDocs>>
  readonly responseHeaders?: Readonly<Record<string, HeaderDocs>>
  readonly example?: Readonly<Record<string, unknown>>
  readonly text?: string
}

export interface ResourceDocs<Resource> {
  readonly description: string
  readonly endpoints?: { readonly [Name in keyof Resource]?: EndpointDocs }
}

/** Returns the endpoint unchanged; infers the types of its schemas. */
export function endpoint<
  Params extends z.ZodType = z.ZodUndefined,
  Query extends z.ZodType = z.ZodUndefined,
  Body extends z.ZodType = z.ZodUndefined,
  Response extends z.ZodType = z.ZodUndefined,
>(declaration: Endpoint<Params, Query, Body, Response>): Endpoint<Params, Query, Body, Response> {
  return declaration
}

/** Accepts any text, because the server answers `not_found` to an id that is not a UUID. */
export const ById = z.object({ id: z.string().meta({ format: 'uuid' }) })

export const NoQuery = z.strictObject({})
