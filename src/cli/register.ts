import type { Client } from '../client/client.ts'
import { type DataSubjectRequest, type RequestChange, type RequestQuery, requests } from '../contract/requests.ts'
import { CliError, exit } from '../errors/errors.ts'
import { callOptional, quoteForShell } from './messages.ts'

const without = {
  message: 'this instance has no register of requests',
  hint: 'name the identifiers, and the ticket with --ticket, in consentctl subject erase',
}

/** @throws CliError `not_offered` (exit 2) if the instance has no register */
export async function callRegister<T>(api: Client, call: () => Promise<T>): Promise<T> {
  return await callOptional(api, requests.list, call, without)
}

/** @throws CliError `not_found` (exit 3), `not_offered` (exit 2) */
export async function findRequest(api: Client, ticket: string): Promise<DataSubjectRequest> {
  const { data } = await callRegister(api, () => api.call(requests.list, { query: { ticket } }))
  const [found] = data
  if (found) return found
  throw new CliError('not_found', exit.notFound, `the register has no request ${ticket}`, {
    hint: 'consentctl requests list --all',
  })
}

/** Newest first. @throws CliError `not_offered` (exit 2) */
export async function* listRequests(
  api: Client,
  query: Omit<RequestQuery, 'cursor' | 'limit'>,
): AsyncGenerator<readonly DataSubjectRequest[]> {
  let cursor: string | undefined
  do {
    const page = await callRegister(api, () =>
      api.call(requests.list, { query: { ...query, limit: 100, ...(cursor !== undefined && { cursor }) } }),
    )
    yield page.data
    cursor = page.next_cursor ?? undefined
  } while (cursor !== undefined)
}

export async function changeRequest(api: Client, id: string, change: RequestChange): Promise<DataSubjectRequest> {
  return await callRegister(api, () => api.call(requests.update, { params: { id }, body: change }))
}

export function closeCommand(ticket: string): string {
  return `consentctl requests close ${quoteForShell(ticket)} --outcome done`
}
