import * as z from 'zod'
import type { ErrorCode } from './errors.ts'
import type { Role } from './roles.ts'

export const scopes = ['read', 'write', 'erase', 'notices', 'import', 'webhooks'] as const
export type Scope = (typeof scopes)[number]

/** Scopes of a key created without any. */
export const defaultScopes: readonly Scope[] = ['read', 'write', 'erase']

/**
 * What an API key that is restricted to some sites gets. `filtered`: only what is of these sites, and for the rest what
 * unknown ids get; `allowed`: everything, because none of it is of a site; `rejected`: 403.
 */
export type SiteKeys = 'filtered' | 'allowed' | 'rejected'

/** `account`: an API key or a dashboard session; `site_token`: a browser with a site's token. */
type Permission =
  | {
      readonly access: 'anyone' | 'site_token'
      readonly roles?: undefined
      readonly scope?: undefined
      readonly siteKeys?: undefined
    }
  | {
      readonly access: 'session'
      readonly roles: readonly Role[]
      readonly scope?: undefined
      readonly siteKeys?: undefined
    }
  | {
      readonly access: 'account'
      readonly roles: readonly Role[]
      /** Of a key, which has no role. One of these is enough. */
      readonly scope: Scope | readonly Scope[]
      readonly siteKeys: SiteKeys
    }
export type Access = Permission['access']

interface Call {
  readonly summary: string
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  readonly path: `/${string}`
  /** Default: takes a unit of the quota, or is rejected. `optional`: takes one if left. */
  readonly unit?: 'optional' | 'free'
  /** Rejected while the service's clock is wrong. */
  readonly statesTime?: boolean
  /** Media type of a request body that is not JSON. */
  readonly bodyMedia?: readonly string[]
  readonly status: 200 | 201 | 204
  /** Media type of a success response that is not JSON. */
  readonly media?: readonly string[]
  /** `Accept: application/x-ndjson` returns all further pages as lines. */
  readonly streams?: boolean
  /** In addition to those of access, parameters and body. */
  readonly errors?: readonly ErrorCode[]
}

/** Without schemas, which take longer to build than the rest of a command's start. */
export type Route = Call & Permission

export type Endpoint<
  Params extends z.ZodType = z.ZodType,
  Query extends z.ZodType = z.ZodType,
  Body extends z.ZodType = z.ZodType,
  Response extends z.ZodType = z.ZodType,
> = Route & {
  readonly params?: Params
  readonly query?: Query
  readonly body?: Body
  readonly response: Response
}

export interface HeaderDocs {
  readonly description: string
  readonly required?: boolean
  readonly schema: Readonly<Record<string, unknown>>
  readonly example: string | number
}

/** Markdown for OpenAPI; separate, so that the client's bundle drops it. */
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

export function endpoint<
  Params extends z.ZodType = z.ZodUndefined,
  Query extends z.ZodType = z.ZodUndefined,
  Body extends z.ZodType = z.ZodUndefined,
  Response extends z.ZodType = z.ZodUndefined,
>(declaration: Endpoint<Params, Query, Body, Response>): Endpoint<Params, Query, Body, Response> {
  return declaration
}

/** The server answers `not_found` to an id that is not a UUID. */
export const ById = z.object({ id: z.string().meta({ format: 'uuid' }) })

export const NoQuery = z.strictObject({})

/** Can be called by a key with the scope `read`, or a session. */
export const accountRead = { method: 'GET', access: 'account', scope: 'read', query: NoQuery, status: 200 } as const
