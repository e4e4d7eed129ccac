import { type Owner, root } from '../consents/records.ts'

/** The pieces that requests are made of, for one owner. Each request asks for its connection to be closed. */
export interface Parts {
  /** A valid body of a create. */
  readonly body: string
  readonly coding: string
  readonly key: string
  /** The body in one chunk, with what is to come after the last one. */
  chunked(trailer?: string): string
  /** A head with the owner's key. */
  head(line: string, ...headers: string[]): string
  post(headers: readonly string[], body: string): string
  /** A whole request for a list. */
  get(query: string): string
}

export type Make = (parts: Parts) => string

export type Row = [what: string, make: Make]

/** The pieces for the requests of one owner: a create for its site, a list, a head with its key. */
export function partsFor({ key, siteId }: Owner): Parts {
  const body = JSON.stringify({ site_id: siteId, accepted: true })
  const head = (line: string, ...headers: string[]) =>
    [line, 'Host: x', 'Connection: close', `Authorization: Bearer ${key}`, ...headers, '', ''].join('\r\n')
  return {
    body,
    key,
    coding: 'Transfer-Encoding: chunked',
    chunked: (trailer = '') => `${body.length.toString(16)}\r\n${body}\r\n0\r\n${trailer}\r\n`,
    head,
    post: (headers, sent) => head(`POST ${root} HTTP/1.1`, 'Content-Type: application/json', ...headers) + sent,
    get: query => head(`GET ${root}?${query} HTTP/1.1`),
  }
}

/** The header that says how long the body is. */
export const length = ({ body }: Parts) => `Content-Length: ${body.length}`
