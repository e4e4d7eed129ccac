import * as z from 'zod'
import type { ErrorCode } from './errors.ts'

/** What an API key may be allowed to do. */
export const scopes = ['read', 'write', 'erase'] as const
export type Scope = (typeof scopes)[number]

/**
 * Who an endpoint answers: anyone; an account, by an API key or a dashboard session; a session alone; a browser with a
 * site's token.
 */
export type Access = 'anyone' | 'account' | 'session' | 'site_token'

/** One route of the service: what both sides need to know, and nothing about how either side does it. */
export interface Endpoint<
  Params extends z.ZodType = z.ZodType,
  Query extends z.ZodType = z.ZodType,
  Body extends z.ZodType = z.ZodType,
  Response extends z.ZodType = z.ZodType,
> {
  /** One line on what it does. */
  readonly summary: string
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** The path with `:name` for each parameter. */
  readonly path: `/${string}`
  readonly access: Access
  /** The scope that an API key needs for it; a session has them all. */
  readonly scope?: Scope
  /** True if it also works when the monthly quota is used up. It then takes no unit. */
  readonly allowedOverQuota?: boolean
  readonly params?: Params
  readonly query?: Query
  readonly body?: Body
  /** The status of a success. */
  readonly status: 200 | 201 | 204
  readonly response: Response
  /** True if with `Accept: application/x-ndjson` this response and all that follow it come as lines of one. */
  readonly streams?: boolean
  /** Error codes beyond those that follow from its access, parameters and body. */
  readonly errors?: readonly ErrorCode[]
}

/** Declares an endpoint; the identity at run time, it keeps the schemas' types. */
export function endpoint<
  Params extends z.ZodType = z.ZodUndefined,
  Query extends z.ZodType = z.ZodUndefined,
  Body extends z.ZodType = z.ZodUndefined,
  Response extends z.ZodType = z.ZodUndefined,
>(declaration: Endpoint<Params, Query, Body, Response>): Endpoint<Params, Query, Body, Response> {
  return declaration
}

/** An endpoint's path with its parameters in their places. */
export function pathOf({ path }: Pick<Endpoint, 'path'>, params: unknown): string {
  return path.replace(/:(\w+)/g, (_, name: string) =>
    encodeURIComponent(String((params as Record<string, unknown>)[name])),
  )
}

/** The id in a path: a text that is no UUID names nothing, so the server answers it with `not_found`. */
export const ById = z.object({ id: z.string().meta({ format: 'uuid' }) })

export const NoQuery = z.strictObject({})
