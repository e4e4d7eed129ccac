import type { Answer } from '../support/service.ts'

/** All that a client can tell two answers apart by: everything but the request id and the clock. */
export function visible({ status, headers, text }: Answer) {
  const { 'x-request-id': _id, date: _date, ...others } = headers
  return { status, headers: others, text }
}
