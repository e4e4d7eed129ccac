import { ApiError, type Call, ContractError, EndlessListError, NetworkError } from '../client/errors.ts'
import type { Scope } from '../contract/endpoint.ts'
import type { ErrorCode, ErrorReason } from '../contract/errors.ts'
import { isOperatorError, type OperatorErrorCode } from '../contract/server.ts'
import { isUuid } from '../contract/uuid.ts'
import { CliError, type Exit, Explained, exit, Resumable, usageError } from './errors.ts'

function networkHint({ code, call, maybeDone }: NetworkError): string {
  const { proxy } = call
  if (proxy && !maybeDone && !isCertificate(code)) return proxyHint(proxy, code)
  if (code === 'ECONNREFUSED') return 'check that the instance is running, and its address: consentctl config list'
  if (/ENOTFOUND|EAI_/.test(code)) return 'check the host name: consentctl config list'
  if (/NOT_YET_VALID|HAS_EXPIRED/.test(code))
    return `check this machine’s clock (${new Date().toISOString()}) and the instance’s certificate`
  if (/ALTNAME|HOSTNAME/.test(code)) return 'check the address: the certificate is for another host'
  if (/^(EPROTO|ERR_SSL)/.test(code))
    return 'check the address: the port may not speak https, or only another version of TLS'
  if (isCertificate(code))
    return 'check the instance’s certificate, or add its authority with --ca-file or NODE_EXTRA_CA_CERTS'
  if (code === 'TIMEOUT' || code === 'DEADLINE') return 'try again, or raise --timeout'
  return 'try again: this is safe'
}

function proxyHint({ source }: { source: string }, code: string): string {
  return code === 'PROXY_407'
    ? `the proxy requires credentials: ${source}=http://user:password@host:port`
    : `check the proxy in ${source}, or add the instance’s host to NO_PROXY`
}

function isCertificate(code: string): boolean {
  return /CERT|ISSUER|SIGNATURE|HOSTNAME|TLS|SSL|EPROTO/.test(code)
}

/** Omits the query, which may contain personal data. */
function redirectHint({ call, location }: ContractError): { why: string; hint: string } | undefined {
  if (location === null || !URL.canParse(location, call.url)) return undefined
  const { origin, pathname } = new URL(location, call.url)
  const wanted = call.path.replace(/:\w+/g, '[^/]+')
  const base = new RegExp(`^(.*)${wanted}/?$`).exec(pathname)
  const why = `it leads to ${origin}${base ? pathname : ''}`
  const hint = base
    ? `if that is the instance, use --base-url ${origin}${base[1]}`
    : 'check the address of the instance: consentctl config list'
  return { why, hint }
}

interface LostResponse {
  readonly outcome: string
  readonly hint: string
}

const lostCreate: LostResponse = {
  outcome: 'the record may or may not have been created',
  hint: 'run consentctl list before you create it again',
}

/** Hints by the path of a POST. */
const lostResponses: Record<string, LostResponse> = {
  '/api/v1/consents': lostCreate,
  '/api/v1/consents/batch': lostCreate,
  '/api/v1/requests': {
    outcome: 'the request may or may not be in the register',
    hint: 'run consentctl requests list before you add it again',
  },
  '/api/v1/keys': {
    outcome: 'the key may or may not have been created',
    hint: 'run consentctl keys list, and revoke the key if it is there: its text is lost',
  },
  '/api/v1/sites': {
    outcome: 'the site may or may not have been created',
    hint: 'run consentctl sites list; if the site is there, rotate its token: the first one is lost',
  },
  '/api/v1/sites/:id/token': {
    outcome: 'the site may or may not have a new token',
    hint: 'run consentctl sites rotate-token again: the new token is lost',
  },
  '/api/v1/webhooks': {
    outcome: 'the webhook may or may not have been created',
    hint: 'run consentctl webhooks list; if the webhook is there, rotate its secret: the first one is lost',
  },
  '/api/v1/webhooks/:id/secret': {
    outcome: 'the webhook may or may not have a new secret',
    hint: 'run consentctl webhooks rotate-secret again, and give the receiver that secret at once',
  },
}

function lostResponse(maybeDone: boolean, { idempotent, path }: Call): LostResponse | undefined {
  if (!maybeDone || idempotent) return undefined
  return (
    lostResponses[path] ?? {
      outcome: 'it may or may not have been applied',
      hint: 'check before you try again',
    }
  )
}

const exitByCode: Record<ErrorCode, Exit> = {
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
  read_only: exit.temporary,
}

/** Other software's responses: a proxy's 404 does not mean a missing record. */
const exitByForeignStatus: Record<number, Exit> = {
  401: exit.auth,
  403: exit.auth,
  408: exit.temporary,
  429: exit.temporary,
}

/** Used for codes that this version does not know. */
const exitByStatus: Record<number, Exit> = { ...exitByForeignStatus, 404: exit.notFound }

function explainApi(error: ApiError): Explanation {
  const { code, reason, status, requestId, call } = error
  const lost = lostResponse(error.maybeDone, call)
  const known = Object.hasOwn(exitByCode, code) ? exitByCode[code as ErrorCode] : undefined
  const exitCode = known ?? exitByStatus[status] ?? (status >= 500 ? exit.temporary : exit.rejected)
  const shown = { code, reason, message: messageOf(error), status, requestId }
  if (lost) {
    const why = `the instance failed after it received the request: ${lost.outcome}`
    return { ...shown, why, hint: lost.hint, exit: exit.unknown }
  }
  const advice = exitCode === exit.auth ? rejectionAdvice(error) : { hint: hintOf(error) }
  return { ...shown, ...advice, ...adviceByReason(error), exit: exitCode }
}

interface Advice {
  readonly why?: string | undefined
  readonly hint?: string | undefined
}

/** Undefined for an unknown reason. */
function adviceByReason({ reason, call }: ApiError): Advice | undefined {
  if (reason === 'missing_scope') return { hint: scopeHint(call.scopes) }
  return reason !== undefined && Object.hasOwn(adviceOf, reason) ? adviceOf[reason as keyof typeof adviceOf] : undefined
}

const adviceOf: Readonly<Record<Exclude<ErrorReason, 'missing_scope'>, Advice>> = {
  site_restricted: { hint: 'use a key that is not restricted to sites' },
  session_required: { hint: 'sign in as a user: --email' },
  missing_role: { why: undefined, hint: 'sign in as a user with that role: consentctl admin user list' },
  foreign_origin: {
    hint: 'check the address of the instance, and that no proxy removes cookies or the Origin header',
  },
  https_required: { why: undefined, hint: 'use an address that begins with https://: consentctl config list' },
  name_taken: { hint: 'use another name, or --allow-duplicate' },
  idempotency_key_reused: {},
  origin_differs: {
    why: 'an origin identifies one record, and later answers of its person are not imported',
    hint: 'compare the record with consentctl list --imported; if the person has refused since: consentctl update ID --refused',
  },
  purged: {},
  erasure_requested: { hint: 'to restore it anyway: --despite-erasure' },
  already_published: {},
  notice_valid_longer: {},
  held: { hint: 'see consentctl hold list' },
  concurrent_change: { hint: 'check what changed, and try again' },
}

function messageOf({ code, call, message }: ApiError): string {
  if (code === 'unauthorized' && isSignIn(call)) return 'wrong email or password'
  if (code !== 'not_found' || call.id === null) return message
  return `no ${/(\w+)s\/:id/.exec(call.path)?.[1]} with id ${call.id}`
}

function isSignIn({ path }: Call): boolean {
  return path.endsWith('/session')
}

function whyRejected(call: Call): string | undefined {
  if (call.keySource !== null) return `the key came from ${call.keySource}`
  return isSignIn(call) ? undefined : 'the instance rejects the session that it created'
}

const importHint = 'consentctl keys create --name import --scope import,read'

/** Keys have the scopes `notices` and `import` only on request. */
export function scopeHint(scopes: readonly Scope[] = []): string {
  const [first, second] = scopes
  if (first === 'import') return `create a key with ${importHint}`
  if (second === 'import') return `use a key with the scope ${first}; for an import create one with ${importHint}`
  if (first === 'webhooks') return 'create a key with consentctl keys create --name webhooks --scope webhooks,read'
  return first === 'notices'
    ? 'create a key with consentctl keys create --name ci --scope notices, or sign in with --email'
    : 'use a key with the required scope: consentctl keys list shows the scopes'
}

function rejectionAdvice({ call, code }: ApiError): Advice {
  return { why: whyRejected(call), hint: rejectedHint(call, code) }
}

function rejectedHint(call: Call, code: string): string {
  const { keySource } = call
  if (keySource === null) {
    return isSignIn(call)
      ? 'check the email and the instance: consentctl config list'
      : `check its address, and that no proxy removes cookies or the Origin header`
  }
  if (code === 'forbidden') return 'check the scopes of the key: consentctl keys list'
  if (keySource.endsWith('key_command')) return 'check what the profile’s key_command prints'
  if (keySource.endsWith('_FILE')) return 'put a valid key into the file of CONSENTCTL_API_KEY_FILE'
  if (keySource.startsWith('CONSENTCTL_')) return `set ${keySource} to a valid key, or unset it`
  return keySource.includes('credentials.json')
    ? 'consentctl auth login with a valid key'
    : 'use the whole key, as it was printed'
}

export const quotaHint =
  'wait for the next calendar month (UTC), or raise the quota where its server runs: consentctl admin account quota EMAIL N'

function hintOf({ code, retryAfter, call }: ApiError): string | undefined {
  if (code === 'quota_exceeded') return quotaHint
  if (code === 'rate_limited' || code === 'unavailable' || code === 'read_only') return retryHint(retryAfter)
  return code === 'not_found' ? notFoundHint(call) : undefined
}

function notFoundHint({ path, method, id }: Call): string | undefined {
  if (path.startsWith('/api/v1/consents/:id') && !isUuid(id ?? ''))
    return `${id} is not a UUID, as the ids of records are: consentctl list shows them`
  if (path === '/api/v1/consents/:id')
    return `if it was deleted: consentctl get --include-deleted, or consentctl history${method === 'DELETE' ? '; --ignore-missing skips it' : ''}`
  if (path.endsWith('/receipt')) return 'a deleted record has no receipt: see consentctl history'
  if (path.startsWith('/api/v1/consents')) return undefined
  if (id === null) return 'this instance may not have this feature; check its address: consentctl config list'
  if (path.startsWith('/api/v1/keys')) return 'consentctl keys list; a revoked key is not found either'
  return path.startsWith('/api/v1/webhooks') ? 'consentctl webhooks list' : 'consentctl sites list'
}

function retryHint(retryAfter: number | null): string {
  if (retryAfter === null) return 'try again later'
  const isLong = retryAfter > 60 && retryAfter <= 86_400
  return `try again in ${retryAfter} s${isLong ? `, or use --max-wait ${retryAfter}` : ''}`
}

function explainNetwork(error: NetworkError): Explanation {
  const { call, message, maybeDone, isPermanent } = error
  const lost = lostResponse(maybeDone, call)
  const host = new URL(call.url).host
  const via = call.proxy ? ` through the proxy ${call.proxy.shown}` : ''
  return {
    code: 'network',
    message: lost ? `the response of ${host} was lost: ${message}` : `no answer from ${host}${via}: ${message}`,
    why: lost && `the request was sent: ${lost.outcome}`,
    hint: lost?.hint ?? networkHint(error),
    exit: lost ? exit.unknown : isPermanent && !maybeDone ? exit.usage : exit.temporary,
  }
}

function explainContract(error: ContractError): Explanation {
  const { call, status, excerpt, message, requestId, retryAfter } = error
  const lost = lostResponse(error.maybeDone, call)
  const redirect = redirectHint(error)
  const isChange = error.maybeDone && !lost && !call.isRead && !isSignIn(call)
  const effect = isChange ? '; the change may or may not have been applied' : ''
  const answer = redirect?.why ?? (excerpt ? `it begins: ${excerpt}` : '')
  const isTemporary = status >= 500 || exitByForeignStatus[status] === exit.temporary
  const checks = `check ${isChange ? 'if it was applied, and ' : ''}the address of the instance: consentctl config list`
  return {
    code: 'unexpected_answer',
    message: `${new URL(call.url).origin} answered ${status}, but ${message}${effect}`,
    why: [lost?.outcome, answer].filter(Boolean).join('; ') || undefined,
    hint: lost?.hint ?? redirect?.hint ?? (isTemporary ? retryHint(retryAfter) : checks),
    exit: lost ? exit.unknown : foreignExit(status, isChange),
    status,
    requestId,
  }
}

function foreignExit(status: number, isChange: boolean): Exit {
  if (status >= 500) return exit.temporary
  return exitByForeignStatus[status] ?? (isChange ? exit.unknown : exit.usage)
}

interface Explanation extends Advice {
  readonly code: string
  readonly reason?: string | undefined
  readonly message: string
  readonly exit: Exit
  readonly status?: number | undefined
  readonly requestId?: string | null | undefined
}

const exitByOperatorErrorCode: Record<OperatorErrorCode, Exit> = {
  settings: exit.usage,
  unavailable: exit.temporary,
  invalid: exit.rejected,
  conflict: exit.rejected,
  not_found: exit.notFound,
}

export function explain(error: unknown): Explanation {
  if (error instanceof Resumable) return { ...explain(error.cause), hint: error.command }
  if (error instanceof Explained) return { ...explain(error.cause), why: error.why, hint: error.hint }
  if (error instanceof CliError) {
    return { code: error.code, message: error.message, hint: error.hint, exit: error.exit }
  }
  if (isOperatorError(error)) {
    const { code, message, hint } = error
    return { code, message, hint, exit: exitByOperatorErrorCode[code] }
  }
  if (error instanceof ApiError) return explainApi(error)
  if (error instanceof NetworkError) return explainNetwork(error)
  if (error instanceof ContractError) return explainContract(error)
  if (error instanceof EndlessListError)
    return {
      code: 'endless_list',
      message: error.message,
      hint: 'report this to the operator of the instance',
      exit: exit.rejected,
    }
  if (/^E[MN]FILE$/.test(String((error as NodeJS.ErrnoException | null)?.code)))
    return {
      code: 'open_files',
      message: 'the limit of open files is reached',
      why: (error as Error).message,
      hint: 'raise the limit: ulimit -n 1024, or LimitNOFILE= of the systemd unit',
      exit: exit.failure,
    }
  if (/^(ERR_)?MODULE_NOT_FOUND$/.test(String((error as NodeJS.ErrnoException | null)?.code)))
    return {
      code: 'incomplete',
      message: 'a file of consentctl is missing: the installation is incomplete, or was rebuilt meanwhile',
      why: (error as Error).message.split('\n')[0],
      hint: 'run the command again; if that fails too, run npm run setup in a clone, or reinstall it',
      exit: exit.failure,
    }
  return { code: 'bug', message: error instanceof Error ? error.message : String(error), exit: exit.failure }
}

export function fromCommander(error: { readonly message: string }): CliError {
  const [message = '', suggestion] = error.message.replace(/^error: /, '').split('\n')
  return usageError(message, suggestion?.replace(/^\((.*)\)$/, '$1'))
}

export function exitOf(error: unknown): Exit {
  return explain(error).exit
}
