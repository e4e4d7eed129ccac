import { ApiError, ContractError, NetworkError } from './client/errors.ts'
import type { ErrorCode } from './contract/errors.ts'
import { isOperatorError } from './contract/server.ts'
import { CliError, Resumable, usageError } from './errors.ts'
import { type Exit, exit } from './exit.ts'

/** What is told of an error (report.ts tells it). */
export interface Explanation {
  readonly code: string
  readonly message: string
  readonly why?: string | undefined
  readonly hint?: string | undefined
  readonly exit: Exit
  readonly status?: number | undefined
  readonly requestId?: string | null | undefined
}

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
  429: exit.temporary,
}

/** Anything thrown, as what is told of it. */
export function explain(error: unknown): Explanation {
  if (error instanceof Resumable) return { ...explain(error.cause), hint: error.command }
  if (error instanceof CliError) {
    return { code: error.code, message: error.message, hint: error.hint, exit: error.exit }
  }
  if (isOperatorError(error)) {
    return { code: 'operator', message: error.message, hint: error.hint, exit: exit.usage }
  }
  if (error instanceof ApiError) return explainApi(error)
  if (error instanceof NetworkError) return explainNetwork(error)
  if (error instanceof ContractError) return explainContract(error)
  return { code: 'bug', message: error instanceof Error ? error.message : String(error), exit: exit.failure }
}

/** commander's complaint about argv, with its suggestion, as a usage error. */
export function fromCommander(error: { readonly message: string }): CliError {
  const [message = '', hint] = error.message.replace(/^error: /, '').split('\n')
  return usageError(message, hint?.replace(/^\((.*)\)$/, '$1'))
}

export function exitOf(error: unknown): Exit {
  return explain(error).exit
}

function explainApi(error: ApiError): Explanation {
  const { code, status, requestId, call } = error
  const isUnsure = status >= 500 && !call.idempotent
  const known = Object.hasOwn(exitOfCode, code) ? exitOfCode[code as ErrorCode] : undefined
  const usual = known ?? exitOfStatus[status] ?? (status >= 500 ? exit.temporary : exit.rejected)
  return {
    code,
    message: code === 'not_found' && call.id !== null ? `no consent with id ${call.id}` : error.message,
    why: usual === exit.auth ? `the key came from ${call.keySource}` : isUnsure ? lost : undefined,
    hint: isUnsure ? checkFirst : usual === exit.auth ? keyHint(call.keySource) : hints[code],
    exit: isUnsure ? exit.unknown : usual,
    status,
    requestId,
  }
}

const lost = 'the instance failed after it received the request: the record may have been made or not'
const checkFirst = 'consentctl list, before you create it again'

/** What to do about a key that is refused depends on where it came from. */
function keyHint(source: string): string {
  if (source.startsWith('CONSENTCTL_')) return `set ${source} to a valid key, or unset it`
  return source.includes('credentials.json')
    ? 'consentctl auth login with a valid key'
    : 'the key as it was made, whole'
}

const hints: Record<string, string> = {
  quota_exceeded: 'wait for the next calendar month (UTC), or raise the account’s quota',
}

function explainNetwork(error: NetworkError): Explanation {
  const isUnsure = error.maybeSent && !error.call.idempotent
  const host = new URL(error.call.url).host
  return {
    code: 'network',
    message: isUnsure
      ? `the answer of ${host} was lost: ${error.message}`
      : `no answer from ${host}: ${error.message}`,
    why: isUnsure ? 'the request was sent: the record may have been made or not' : undefined,
    hint: isUnsure ? checkFirst : networkHint(error.code),
    exit: isUnsure ? exit.unknown : exit.temporary,
  }
}

function networkHint(code: string): string {
  if (code === 'ECONNREFUSED') return 'check that the instance runs, and its address: consentctl config list'
  if (/ENOTFOUND|EAI_/.test(code)) return 'check the host’s name: consentctl config list'
  if (/CERT|TLS|SSL|ISSUER|SIGNATURE/.test(code))
    return 'check the instance’s certificate; NODE_EXTRA_CA_CERTS adds an authority'
  return 'try again; nothing is lost by it'
}

function explainContract(error: ContractError): Explanation {
  const { status, call } = error
  const isUnsure = !call.idempotent && (status < 300 || status >= 500)
  return {
    code: 'unexpected_answer',
    message: `${new URL(call.url).origin} answered ${status}, but ${error.message}`,
    why: error.excerpt ? `it begins: ${error.excerpt}` : undefined,
    hint: isUnsure ? checkFirst : 'check the address of the instance: consentctl config list',
    exit: isUnsure ? exit.unknown : status >= 500 ? exit.temporary : (exitOfForeign[status] ?? exit.usage),
    status,
    requestId: error.requestId,
  }
}

/** An answer of something else than the service says nothing of a record: a 404 of a proxy is no "not found". */
const exitOfForeign: Record<number, Exit> = { 401: exit.auth, 403: exit.auth, 429: exit.temporary }
