import type { ServiceResponse } from '../support/service.ts'

/** Returns all of a response but its request id and date, to compare two. */
export function visible({ status, headers, text }: ServiceResponse) {
  const { 'x-request-id': _id, date: _date, ...others } = headers
  return { status, headers: others, text }
}
