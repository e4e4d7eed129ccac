import * as z from 'zod'
import type { ErrorCode } from './errors.ts'

export const scopes = ['read', 'write', 'erase'] as const
export type Scope = (typeof scopes)[number]

/** Accepted callers: anyone; an API key or a dashboard session; a session only; a browser with a site's token. */
export type Access = 'anyone' | 'account' | 'session' | 'site_token'

/** One route of the service, as both sides need to know it. */
export interface Endpoint<
  Params extends z.ZodType = z.ZodType,
  Query extends z.ZodType = z.ZodType,
  Body extends z.ZodType = z.ZodType,
  Response extends z.ZodType = z.ZodType,
> {
  readonly summary: string
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** The path with `:name` for each parameter. */
  readonly path: `/${string}`
  readonly access: Access
  /** The scope that an API key needs. A session has every scope. */
  readonly scope?: Scope
  /** True if it also works when the monthly quota is used up. It then takes no unit. */
  readonly allowedOverQuota?: boolean
  readonly params?: Params
  readonly query?: Query
  readonly body?: Body
  readonly status: 200 | 201 | 204
  readonly response: Response
  /** True if `Accept: application/x-ndjson` gets this page and all that follow as lines of one response. */
  readonly streams?: boolean
  /** Error codes in addition to those that follow from its access, parameters and body. */
  readonly errors?: readonly ErrorCode[]
}

export interface HeaderDocs {
  readonly description: string
  readonly required?: boolean
  readonly schema: Readonly<Record<string, unknown>>
  readonly example: string | number
}

/**
 * The prose of an endpoint, in Markdown, and what else only the OpenAPI document needs. It is a constant beside the endpoint, not
 * a part of it, so that bundling the client drops it.
 */
export interface EndpointDocs {
  readonly description?: string
  /** Describes the success. Default: `Done.`, or `Created.` for 201. */
  readonly success?: string
  readonly requestHeaders?: Readonly<Record<string, HeaderDocs>>
  /** Headers of the success. */
  readonly responseHeaders?: Readonly<Record<string, HeaderDocs>>
  /** Replaces fields of the generated example of the success. */
  readonly example?: Readonly<Record<string, unknown>>
}

/** The prose of a resource. Endpoints that need none can be left out. */
export interface ResourceDocs<Resource> {
  readonly description: string
  readonly endpoints?: { readonly [Name in keyof Resource]?: EndpointDocs }
}

/** Declares an endpoint. Returns it unchanged, with the types of its schemas. */
export function endpoint<
  Params extends z.ZodType = z.ZodUndefined,
  Query extends z.ZodType = z.ZodUndefined,
  Body extends z.ZodType = z.ZodUndefined,
  Response extends z.ZodType = z.ZodUndefined,
>(declaration: Endpoint<Params, Query, Body, Response>): Endpoint<Params, Query, Body, Response> {
  return declaration
}

export function pathOf({ path }: Pick<Endpoint, 'path'>, params: unknown): string {
  return path.replace(/:(\w+)/g, (_, name: string) =>
    encodeURIComponent(String((params as Record<string, unknown>)[name])),
  )
}

/** Path with an id. The server answers `not_found` to what is not a UUID. */
export const ById = z.object({ id: z.string().meta({ format: 'uuid' }) })

export const NoQuery = z.strictObject({})
