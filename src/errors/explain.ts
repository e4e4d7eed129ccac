import { ApiError, type Call, ContractError, EndlessListError, NetworkError } from '../client/errors.ts'
import type { ErrorCode } from '../contract/errors.ts'
import { isOperatorError, type Obstacle } from '../contract/server.ts'
import { CliError, type Exit, exit, Resumable, usageError } from './errors.ts'

/** What to do about a call without an answer. */
function networkHint({ code, call, maybeDone }: NetworkError): string {
  const { proxy } = call
  if (proxy && !maybeDone && !isCertificate(code)) return proxyHint(proxy, code)
  if (code === 'ECONNREFUSED') return 'check that the instance runs, and its address: consentctl config list'
  if (/ENOTFOUND|EAI_/.test(code)) return 'check the host’s name: consentctl config list'
  if (/NOT_YET_VALID|HAS_EXPIRED/.test(code)) {
    return `check this machine’s clock (it says ${new Date().toISOString()}), and the instance’s certificate`
  }
  if (/ALTNAME|HOSTNAME/.test(code)) return 'check the address: the certificate is for another host'
  if (/^(EPROTO|ERR_SSL)/.test(code)) {
    return 'check the address: perhaps there is no https there, or only a newer or older TLS'
  }
  if (isCertificate(code)) {
    return 'check the instance’s certificate; --ca-file adds an authority, as NODE_EXTRA_CA_CERTS does'
  }
  if (code === 'TIMEOUT') return 'try again; --timeout gives a request more time'
  return 'try again; nothing is lost by it'
}

function proxyHint({ source }: { source: string }, code: string): string {
  if (code === 'PROXY_407') {
    return `the proxy wants credentials: ${source}=http://user:password@host:port`
  }
  return `check the proxy that ${source} names; NO_PROXY with the instance’s host goes without one`
}

function isCertificate(code: string): boolean {
  return /CERT|ISSUER|SIGNATURE|HOSTNAME|TLS|SSL|EPROTO/.test(code)
}

/** Where a redirect leads, without its query; and the base address that would save it, where it is plain. */
function redirectHint({ call, location }: ContractError): { why: string; hint: string } | undefined {
  if (location === null || !URL.canParse(location, call.url)) return undefined
  const { origin, pathname } = new URL(location, call.url)
  const wanted = call.path.replace(/:\w+/g, '[^/]+')
  const base = new RegExp(`^(.*)${wanted}/?$`).exec(pathname)
  const why = `it leads to ${origin}${base ? pathname : ''}`
  return base
    ? { why, hint: `if that is the instance, set its address: --base-url ${origin}${base[1]}` }
    : { why, hint: 'check the address of the instance: consentctl config list' }
}

/** A call that may have been carried out, but whose answer is not known. */
interface Lost {
  readonly outcome: string
  readonly hint: string
}

/** By the path of a POST whose answer was lost: what may have come of it, and how to find out. */
const lostCalls: Record<string, Lost> = {
  '/api/v1/consents': {
    outcome: 'the record may have been made or not',
    hint: 'consentctl list, before you create it again',
  },
  '/api/v1/consents/batch': {
    outcome: 'its record may have been made or not',
    hint: 'consentctl list, before you create it again',
  },
  '/api/v1/keys': {
    outcome: 'the key may have been made or not',
    hint: 'consentctl keys list, and revoke it if it is there: its text is lost',
  },
  '/api/v1/sites': {
    outcome: 'the site may have been made or not',
    hint: 'consentctl sites list; if it is there, give it a new token, for the first one is lost',
  },
  '/api/v1/sites/:id/token': {
    outcome: 'the site may have a new token or not',
    hint: 'consentctl sites rotate-token once more: such a token is lost',
  },
}

/** What is unknown of a call that may have been carried out, unless doing it twice is as good as once. */
function lostIf(isCarriedOut: boolean, { idempotent, path }: Call): Lost | undefined {
  if (!isCarriedOut || idempotent) return undefined
  return lostCalls[path] ?? { outcome: 'it may have been done or not', hint: 'look, before you do it again' }
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
function explainApi(error: ApiError): Explanation {
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
function explainNetwork(error: NetworkError): Explanation {
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
function explainContract(error: ContractError): Explanation {
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

/** What is told of an error (report.ts tells it). */
interface Explanation {
  readonly code: string
  readonly message: string
  readonly why?: string | undefined
  readonly hint?: string | undefined
  readonly exit: Exit
  readonly status?: number | undefined
  readonly requestId?: string | null | undefined
}

const exitOfObstacle: Record<Obstacle, Exit> = {
  settings: exit.usage,
  unavailable: exit.temporary,
  invalid: exit.rejected,
  conflict: exit.rejected,
  not_found: exit.notFound,
}

/** Anything thrown, as what is told of it. */
export function explain(error: unknown): Explanation {
  if (error instanceof Resumable) return { ...explain(error.cause), hint: error.command }
  if (error instanceof CliError) {
    return { code: error.code, message: error.message, hint: error.hint, exit: error.exit }
  }
  if (isOperatorError(error)) {
    const { obstacle, message, hint } = error
    return { code: obstacle, message, hint, exit: exitOfObstacle[obstacle] }
  }
  if (error instanceof ApiError) return explainApi(error)
  if (error instanceof NetworkError) return explainNetwork(error)
  if (error instanceof ContractError) return explainContract(error)
  if (error instanceof EndlessListError)
    return {
      code: 'endless_list',
      message: error.message,
      hint: 'tell who runs the instance',
      exit: exit.rejected,
    }
  return { code: 'bug', message: error instanceof Error ? error.message : String(error), exit: exit.failure }
}

/** What helps with complaints for which commander has no suggestion. */
const hints: readonly (readonly [complaint: RegExp, hint: string])[] = [
  [/^unknown command 'help'/, 'consentctl --help, or --help behind any command'],
  [/^too many arguments/, 'names of fields follow an equals sign, as in --json=id; ids come as they are'],
]

/** commander's complaint about argv, with its suggestion, as a usage error. */
export function fromCommander(error: { readonly message: string }): CliError {
  const [message = '', hint] = error.message.replace(/^error: /, '').split('\n')
  const own = hints.find(([complaint]) => complaint.test(message))?.[1]
  return usageError(message, own ?? hint?.replace(/^\((.*)\)$/, '$1'))
}

export function exitOf(error: unknown): Exit {
  return explain(error).exit
}
