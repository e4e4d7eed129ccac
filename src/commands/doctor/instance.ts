import { type Checked, fail, ok, skip, tried, warn } from '../../cli/checks.ts'
import { formatCount } from '../../cli/messages.ts'
import type { RawResponse } from '../../client/transport.ts'
import type { Context } from '../../context.ts'
import { type Usage, usage } from '../../contract/usage.ts'
import { webhooks } from '../../contract/webhooks.ts'
import { exit } from '../../errors/errors.ts'
import { explain, quotaHint } from '../../errors/explain.ts'
import { maskKey } from '../../settings/key.ts'
import { proxyFor } from '../../settings/proxy.ts'
import { isLoopback, requireApiKey, requireBaseUrl } from '../../settings/settings.ts'
import { describeUsage } from '../../views/account.ts'
import { describeState } from '../../views/webhook.ts'

function checkService({ status, text }: RawResponse, version: string | null): Checked {
  const named = version ? `, version ${version}` : ''
  if (status === 200 && /"status"\s*:\s*"ok"/.test(text)) return ok('service', `ready${named}`)
  if (status === 200 && /"status"\s*:\s*"read-only"/.test(text))
    return warn('service', `read-only at the moment${named}`, 'write later, or ask its operator')
  if (status >= 500)
    return fail('service', exit.temporary, `not ready (${status})${named}`, 'wait, or ask its operator')
  return skip('service', `no readiness check (${status})${named}`)
}

/** Clock skew breaks TLS and signatures. */
const clockWarningSeconds = 30
const clockFailureSeconds = 300

/** `Date` has whole seconds (RFC 9110 section 6.6.1). `took`: ms. */
function checkClock(date: string | string[] | undefined, took: number): Checked {
  const then = Date.parse(String(date ?? ''))
  if (Number.isNaN(then)) return skip('clock', 'the instance sends no time')
  const offset = Math.round((Date.now() - took / 2 - then) / 1000)
  const size = Math.abs(offset)
  const detail = size <= 1 ? 'agrees with the instance' : `${size} s ${offset > 0 ? 'ahead of' : 'behind'} the instance`
  const remedy = 'set this machine’s clock, for example by NTP'
  if (size > clockFailureSeconds) return fail('clock', exit.usage, detail, remedy)
  return size > clockWarningSeconds ? warn('clock', detail, remedy) : ok('clock', detail)
}

async function checkKey(ctx: Context, timeout: number): Promise<Checked[]> {
  let probed: RawResponse | undefined
  const key = await tried('key', async () => {
    const { value, source } = await requireApiKey(ctx.settings).read()
    probed = await ctx.api.probe('/api/v1/consents?limit=1', timeout)
    return resultOf(probed, `${maskKey(value)} from ${source}`, source)
  })
  const answer = probed
  if (!answer) return [key, skip('quota', 'the key was not checked')]
  const quota = await tried('quota', () => checkQuota(ctx, answer))
  return key.row.result === 'fail' ? [key, quota] : [key, quota, ...(await checkWebhooks(ctx))]
}

/** None without a webhook, or if the key or the instance cannot list them. */
async function checkWebhooks(ctx: Context): Promise<Checked[]> {
  const all = await ctx.api.call(webhooks.list, {}).then(({ data }) => data, explain)
  if ('code' in all) {
    const isUnavailable = all.status === 403 || all.status === 404
    return isUnavailable ? [] : [skip('webhooks', `they could not be read (${all.code})`)]
  }
  if (all.length === 0) return []
  const stopped = all.filter(({ state }) => state !== 'active')
  const [first] = stopped
  if (!first) return [ok('webhooks', `${formatCount(all.length, 'webhook')}, none failing or paused`)]
  const detail = stopped.map(each => `${each.id} is ${describeState(each)}`).join('; ')
  return [warn('webhooks', detail, `consentctl webhooks show ${first.id}`)]
}

async function checkQuota(ctx: Context, answer: RawResponse): Promise<Checked> {
  const isAsked = answer.status === 200 || answer.status === 429
  const hasHeaders = answer.headers['x-quota-remaining'] !== undefined
  if (!isAsked && !hasHeaders) return skip('quota', `it was not told: the instance answered ${answer.status}`)
  try {
    if (isAsked) return checkUsage(await ctx.api.call(usage.get, {}))
  } catch (error) {
    const { status, message } = explain(error)
    const isOffered = status !== 404
    if (isOffered && !hasHeaders && !isCode(answer.text, 'quota_exceeded'))
      return skip('quota', `it could not be read: ${message}`)
  }
  return checkHeaders(answer)
}

function resultOf({ status, text }: RawResponse, key: string, source: string): Checked {
  if (status === 200) return ok('key', `${key} is accepted (this took one request of the quota)`)
  if (isCode(text, 'forbidden'))
    return warn('key', `${key} is accepted, but cannot read records`, 'consentctl keys list')
  if (status === 401 || status === 403)
    return fail('key', exit.auth, `${key} is rejected (${status})`, remedyFor(source))
  if (isCode(text, 'quota_exceeded')) return ok('key', `${key} is accepted`)
  const code = status === 429 || status >= 500 ? exit.temporary : exit.usage
  const remedy = code === exit.temporary ? 'try again later, or ask its operator' : 'check the address of the instance'
  return fail('key', code, `${key} is not checked: the instance answered ${status}`, remedy)
}

function remedyFor(source: string): string {
  return source.startsWith('CONSENTCTL_') ? `set ${source} to a valid key, or unset it` : 'consentctl auth login'
}

const lowQuota = 0.1

function checkUsage(used: Usage): Checked {
  const { limit, remaining, resets_at } = used
  if (limit === null || remaining === null)
    return ok('quota', `${describeUsage(used)}; ${formatCount(used.used, 'request')} this month`)
  if (remaining === 0) return fail('quota', exit.quota, describeUsage(used) ?? '', quotaHint)
  return checkLeft(remaining, limit, resets_at)
}

function checkHeaders({ headers, text }: RawResponse): Checked {
  const number = (name: string) => Number.parseInt(String(headers[name] ?? ''), 10)
  const [most, left, reset] = [number('x-quota-limit'), number('x-quota-remaining'), number('x-quota-reset')]
  const end = reset > 0 && reset < 1e11 ? new Date(reset * 1000).toISOString() : null
  if (isCode(text, 'quota_exceeded') || left === 0) {
    const until = end === null ? '' : `, until ${end.slice(0, 10)}`
    return fail('quota', exit.quota, `this month’s quota is used up${until}`, quotaHint)
  }
  return Number.isNaN(left) ? skip('quota', 'the instance reports no quota') : checkLeft(left, most, end)
}

function checkLeft(left: number, most: number, end: string | null): Checked {
  const until = end === null ? '' : `, until ${end.slice(0, 10)}`
  const detail = `${left} of ${Number.isNaN(most) ? 'an unknown number of' : most} requests are left${until}`
  return left < most * lowQuota ? warn('quota', detail, quotaHint) : ok('quota', detail)
}

function isCode(text: string, code: string): boolean {
  try {
    return (JSON.parse(text) as { error?: unknown }).error === code
  } catch {
    return false
  }
}

const timeoutMs = 8000

export async function checkInstance(ctx: Context): Promise<Checked[]> {
  const address = await tried('base_url', () => checkAddress(ctx))
  if (address.row.result === 'fail') return [address, skip('connection', 'no address')]
  const url = new URL(requireBaseUrl(ctx.settings))
  const proxy = proxyFor(url.href, ctx.host.env)
  const open = ctx.apiWith(null)
  const start = Date.now()
  const [connection, key, version] = await Promise.all([
    open.probe('/ready', timeoutMs).then(
      probed => ({ probed, took: Date.now() - start }),
      (error: unknown) => ({ error }),
    ),
    checkKey(ctx, timeoutMs),
    open.probe('/api/v1/openapi.json', timeoutMs).then(versionOf, () => null),
  ])
  const reached = await tried('connection', () => {
    if ('error' in connection) throw connection.error
    return ok('connection', `${url.origin} answered in ${connection.took} ms`)
  })
  const checks = [address, checkProxy(proxy), reached]
  if ('error' in connection) return [...checks, ...key]
  const { probed, took } = connection
  return [...checks, checkService(probed, version), checkClock(probed.headers['date'], took), ...key]
}

function checkAddress({ settings }: Context): Checked {
  const value = requireBaseUrl(settings)
  const detail = `${value} (${settings.baseUrl?.source}), profile ${settings.profile.value}`
  const { protocol, hostname } = new URL(value)
  if (protocol === 'https:' || isLoopback(hostname)) return ok('base_url', detail)
  return warn('base_url', `${detail}: not encrypted`, 'use https: anyone on the network path can read the key')
}

function checkProxy(proxy: ReturnType<typeof proxyFor>): Checked {
  return proxy ? ok('proxy', `${proxy.source}: ${proxy.shown}`) : skip('proxy', 'no proxy is used')
}

function versionOf({ status, text }: RawResponse): string | null {
  try {
    const { info } = JSON.parse(status === 200 ? text : '{}') as { info?: { version?: unknown } }
    return typeof info?.version === 'string' ? info.version.slice(0, 40) : null
  } catch {
    return null
  }
}
