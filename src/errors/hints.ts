import type { ContractError, NetworkError } from '../client/errors.ts'

/** What to do about a call without an answer. */
export function networkHint({ code, call, maybeDone }: NetworkError): string {
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
export function redirectHint({ call, location }: ContractError): { why: string; hint: string } | undefined {
  if (location === null || !URL.canParse(location, call.url)) return undefined
  const { origin, pathname } = new URL(location, call.url)
  const wanted = call.path.replace(/:\w+/g, '[^/]+')
  const base = new RegExp(`^(.*)${wanted}/?$`).exec(pathname)
  const why = `it leads to ${origin}${base ? pathname : ''}`
  return base
    ? { why, hint: `if that is the instance, set its address: --base-url ${origin}${base[1]}` }
    : { why, hint: 'check the address of the instance: consentctl config list' }
}
