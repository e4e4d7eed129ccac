import * as z from 'zod'
import type { ErrorCode } from './errors.ts'

export const scopes = ['read', 'write', 'erase', 'notices', 'import'] as const
export type Scope = (typeof scopes)[number]

/** Of a key for which none are named. */
export const defaultScopes: readonly Scope[] = ['read', 'write', 'erase']

/** Anyone; an API key or a dashboard session; a session only; a browser with a site's token. */
export type Access = 'anyone' | 'account' | 'session' | 'site_token'

export interface Endpoint<
  Params extends z.ZodType = z.ZodType,
  Query extends z.ZodType = z.ZodType,
  Body extends z.ZodType = z.ZodType,
  Response extends z.ZodType = z.ZodType,
> {
  readonly summary: string
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** With `:name` for each parameter. */
  readonly path: `/${string}`
  readonly access: Access
  /** For API keys; of several, one is enough. A session of an owner has every scope, one of a reader `read` and every GET. */
  readonly scope?: Scope | readonly Scope[]
  /** True if a reader may do it although it changes something of their own. */
  readonly allowsReader?: boolean
  /**
   * For API keys. Default: a request takes a unit of the monthly quota, and is rejected without one. `optional`: it takes one
   * if one is left. `free`: it takes none.
   */
  readonly unit?: 'optional' | 'free'
  /** True if it writes nothing, and states the present time: it is rejected while the clock of the service is wrong. */
  readonly statesTime?: boolean
  readonly params?: Params
  readonly query?: Query
  readonly body?: Body
  /** Media types of a body that is bytes and not JSON. */
  readonly bodyMedia?: readonly string[]
  readonly status: 200 | 201 | 204
  readonly response: Response
  /** Media types of a success that is not JSON, whose bytes are read as they are; `response` is then not used. */
  readonly media?: readonly string[]
  /** True if `Accept: application/x-ndjson` gets this and all further pages as lines. */
  readonly streams?: boolean
  /** In addition to those of access, parameters and body. */
  readonly errors?: readonly ErrorCode[]
}

export interface HeaderDocs {
  readonly description: string
  readonly required?: boolean
  readonly schema: Readonly<Record<string, unknown>>
  readonly example: string | number
}

/**
 * Prose in Markdown, for the OpenAPI document only. Not a part of the endpoint, so that bundling the client drops it.
 */
export interface EndpointDocs {
  readonly description?: string
  /** Default: `Done.`, or `Created.` for 201. */
  readonly success?: string
  readonly requestHeaders?: Readonly<Record<string, HeaderDocs>>
  readonly responseHeaders?: Readonly<Record<string, HeaderDocs>>
  /** Replaces fields of the generated example. */
  readonly example?: Readonly<Record<string, unknown>>
  /** Example of a body that is text. */
  readonly text?: string
}

/** Endpoints that need no prose can be left out. */
export interface ResourceDocs<Resource> {
  readonly description: string
  readonly endpoints?: { readonly [Name in keyof Resource]?: EndpointDocs }
}

/** Returns the endpoint unchanged, with the types of its schemas. */
export function endpoint<
  Params extends z.ZodType = z.ZodUndefined,
  Query extends z.ZodType = z.ZodUndefined,
  Body extends z.ZodType = z.ZodUndefined,
  Response extends z.ZodType = z.ZodUndefined,
>(declaration: Endpoint<Params, Query, Body, Response>): Endpoint<Params, Query, Body, Response> {
  return declaration
}

/** The server answers `not_found` to what is not a UUID. */
export const ById = z.object({ id: z.string().meta({ format: 'uuid' }) })

export const NoQuery = z.strictObject({})
