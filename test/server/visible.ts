import type { ServiceResponse } from '../support/service.ts'

/** Returns all of a response but its request id, its date and what becomes of the connection, to compare two. */
export function visible({ status, headers, text }: Pick<ServiceResponse, 'status' | 'headers' | 'text'>) {
  const { 'x-request-id': _id, date: _date, connection: _end, 'keep-alive': _idle, ...others } = headers
  return { status, headers: others, text }
}
