import type * as z from 'zod'

/** One route of the service: what both sides need to know, and nothing about how either side does it. */
export interface Endpoint<
  Params extends z.ZodType = z.ZodType,
  Query extends z.ZodType = z.ZodType,
  Body extends z.ZodType = z.ZodType,
  Response extends z.ZodType = z.ZodType,
> {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** The path with `:name` for each parameter. */
  readonly path: `/${string}`
  readonly params?: Params
  readonly query?: Query
  readonly body?: Body
  /** The status of a success. */
  readonly status: 200 | 201
  readonly response: Response
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
