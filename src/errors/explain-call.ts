import type { ApiError, Call, ContractError, NetworkError } from '../client/errors.ts'
import type { ErrorCode } from '../contract/errors.ts'
import { type Exit, exit } from './exit.ts'
import type { Explanation } from './explain.ts'
import { networkHint, redirectHint } from './hints.ts'
import { lostIf } from './lost.ts'

const exitOfCode: Record<ErrorCode, Exit> = {
  invalid_request: exit.rejected,
  unauthorized: exit.auth,
  forbidden: exit.auth,
  not_found: exit.notFound,
  conflict: exit.rejected,
  payload_too_large: exit.rejected,
  quota_exceeded: exit.quota,
  rate_limited: exit.temporary,
  internal_error: exit.temporary,
  unavailable: exit.temporary,
}

/** For codes that this service does not have: the nearest meaning of the status. */
const exitOfStatus: Record<number, Exit> = {
  401: exit.auth,
  403: exit.auth,
  404: exit.notFound,
  408: exit.temporary,
  429: exit.temporary,
}

/** An answer of something else than the service says nothing of a record: a 404 of a proxy is no "not found". */
const exitOfForeign: Record<number, Exit> = {
  401: exit.auth,
  403: exit.auth,
  408: exit.temporary,
  429: exit.temporary,
}

/** An error that the instance answered with. */
export function explainApi(error: ApiError): Explanation {
  const { code, status, requestId, call } = error
  const lost = lostIf(error.maybeDone, call)
  const known = Object.hasOwn(exitOfCode, code) ? exitOfCode[code as ErrorCode] : undefined
  const usual = known ?? exitOfStatus[status] ?? (status >= 500 ? exit.temporary : exit.rejected)
  return {
    code,
    message: messageOf(error),
    why: lost
      ? `the instance failed after it received the request: ${lost.outcome}`
      : usual === exit.auth
        ? whyRefused(call)
        : undefined,
    hint: lost?.hint ?? (usual === exit.auth ? refusedHint(error) : hintOf(error)),
    exit: lost ? exit.unknown : usual,
    status,
    requestId,
  }
}

function messageOf({ code, call, message }: ApiError): string {
  if (code === 'unauthorized' && isSignIn(call)) return 'the e-mail or the password is wrong'
  if (code !== 'not_found' || call.id === null) return message
  return `no ${/(\w+)s\/:id/.exec(call.path)?.[1]} with id ${call.id}`
}

function isSignIn({ path }: Call): boolean {
  return path.endsWith('/session')
}

function whyRefused(call: Call): string | undefined {
  if (call.keySource !== null) return `the key came from ${call.keySource}`
  return isSignIn(call) ? undefined : 'the instance does not take the session that it gave'
}

/** What to do about a refusal depends on what was refused: a sign-in, its session, what a key may do, or the key. */
function refusedHint({ call, code }: ApiError): string {
  const { keySource } = call
  if (keySource === null) {
    return isSignIn(call)
      ? 'check who signs in, and where: consentctl config list'
      : 'check its address, and that no proxy on the way takes cookies or the Origin away'
  }
  if (code === 'forbidden') return 'use a key that may do this: consentctl keys list has what each may do'
  if (keySource.endsWith('key_command')) return 'see what the profile’s key_command prints'
  if (keySource.endsWith('_FILE')) return 'put a valid key into the file that CONSENTCTL_API_KEY_FILE names'
  if (keySource.startsWith('CONSENTCTL_')) return `set ${keySource} to a valid key, or unset it`
  return keySource.includes('credentials.json')
    ? 'consentctl auth login with a valid key'
    : 'the key as it was made, whole'
}

function hintOf({ code, retryAfter, call }: ApiError): string | undefined {
  if (code === 'quota_exceeded') return 'wait for the next calendar month (UTC), or raise the account’s quota'
  if (code === 'rate_limited' || code === 'unavailable') return againHint(retryAfter)
  if (code === 'not_found' && call.path === '/api/v1/consents/:id')
    return call.method === 'GET' ? 'get --include-deleted, or history, if it was deleted' : undefined
  if (code === 'not_found' && call.path.endsWith('/receipt'))
    return 'a deleted record has none; consentctl history shows what became of it'
  if (code !== 'not_found' || call.path.startsWith('/api/v1/consents')) return undefined
  if (call.id === null) return 'not every instance has this; check its address: consentctl config list'
  return call.path.startsWith('/api/v1/keys')
    ? 'consentctl keys list; a key that is revoked already counts as none'
    : 'consentctl sites list'
}

/** When to try again; an instance may ask for a longer wait than a command makes of itself. */
function againHint(retryAfter: number | null): string {
  if (retryAfter === null) return 'again in a while'
  const isLong = retryAfter > 60 && retryAfter <= 86_400
  return `again in ${retryAfter} s${isLong ? `; --max-wait ${retryAfter} waits so long` : ''}`
}

/** A call without an answer. */
export function explainNetwork(error: NetworkError): Explanation {
  const { call, message, maybeDone } = error
  const lost = lostIf(maybeDone, call)
  const host = new URL(call.url).host
  const via = call.proxy ? ` through the proxy ${call.proxy.shown}` : ''
  return {
    code: 'network',
    message: lost ? `the answer of ${host} was lost: ${message}` : `no answer from ${host}${via}: ${message}`,
    why: lost && `the request was sent: ${lost.outcome}`,
    hint: lost?.hint ?? networkHint(error),
    exit: lost ? exit.unknown : exit.temporary,
  }
}

/** A call that something else than the service answered. */
export function explainContract(error: ContractError): Explanation {
  const { call, status, excerpt, message, requestId, retryAfter } = error
  const lost = lostIf(error.maybeDone, call)
  const exitCode = status >= 500 ? exit.temporary : (exitOfForeign[status] ?? exit.usage)
  const redirect = redirectHint(error)
  return {
    code: 'unexpected_answer',
    message: `${new URL(call.url).origin} answered ${status}, but ${message}`,
    why: redirect?.why ?? (excerpt ? `it begins: ${excerpt}` : undefined),
    hint:
      lost?.hint ??
      redirect?.hint ??
      (exitCode === exit.temporary
        ? againHint(retryAfter)
        : 'check the address of the instance: consentctl config list'),
    exit: lost ? exit.unknown : exitCode,
    status,
    requestId,
  }
}
