import { ApiError, type CallError, ContractError } from '../client/errors.ts'
import { type Headers, header, type Received } from '../client/http.ts'
import type { Connection, Trace } from '../client/request.ts'
import { maxAttempts } from '../client/retry.ts'
import type { Context } from '../context.ts'
import { visible } from '../output/index.ts'
import { maskKey } from '../settings/key.ts'
import type { Sourced } from '../settings/settings.ts'
import { redactBody, redactHeader, redactUrl } from './redact.ts'

type Surroundings = Pick<Context, 'settings' | 'globals' | 'io'> & { readonly caFile: Sourced | null }

/** Seconds by which clocks may differ without a word. */
const tolerance = 60

/** Tells on stderr what is decided, and with --debug what is sent and answered; without secrets and personal data. */
export function openTrace(connection: Connection, { settings, globals, io, caFile }: Surroundings): Trace {
  const { key } = connection
  const masked = (text: string) => (key ? text.replaceAll(key.value, maskKey(key.value)) : text)
  const tell = (line: string) => void io.err.write(`${visible(masked(line))}\n`).catch(() => {})
  const debug = (mark: string, headers: Headers, body: string) => {
    if (!globals.debug) return
    for (const [name, value] of Object.entries(headers)) {
      for (const each of [value ?? []].flat()) tell(`${mark} ${name}: ${redactHeader(name, each, maskKey)}`)
    }
    tell(`${mark} ${redactBody(body)}`)
  }
  for (const line of settingsLines(connection, settings, caFile)) tell(`* ${line}`)
  return {
    waits: (error, seconds, next) =>
      tell(`* again in ${seconds.toFixed(1)} s (attempt ${next} of ${maxAttempts}): ${reasonOf(error)}`),
    follow: async (call, request, send) => {
      const began = performance.now()
      const took = () => `${Math.round(performance.now() - began)} ms`
      tell(`> ${call.method} ${redactUrl(call.url, call.path)}`)
      debug('>', request.headers, request.body ?? '')
      try {
        const answer = await send()
        tell(`< ${answer.head.status} after ${took()}${aboutAnswer(answer)}`)
        debug('<', answer.headers, answer.text)
        return answer
      } catch (error) {
        tell(`< nothing that can be used after ${took()}: ${reasonOf(error as CallError)}`)
        throw error
      }
    },
  }
}

function settingsLines(
  connection: Connection,
  settings: Context['settings'],
  caFile: Sourced | null,
): string[] {
  const { baseUrl, key, proxy, timeout, maxWait } = connection
  const { profile } = settings
  return [
    `instance ${baseUrl} (${settings.baseUrl?.source}), profile ${profile.value} (${profile.source})`,
    key ? `key ${maskKey(key.value)} (${key.source})` : 'no key: somebody signs in',
    proxy ? `through the proxy ${proxy.shown} (${proxy.source})` : 'through no proxy',
    ...(caFile ? [`authorities of ${caFile.value} too (${caFile.source})`] : []),
    `a request may take ${timeout === null ? 'the usual time' : `${timeout / 1000} s`}, a wait ${maxWait} s`,
  ]
}

function aboutAnswer({ head, headers }: Received): string {
  const date = Date.parse(header(headers, 'date') ?? '')
  const ahead = Number.isNaN(date) ? 0 : Math.round((Date.now() - date) / 1000)
  const clock =
    Math.abs(ahead) > tolerance
      ? `; this machine's clock is ${Math.abs(ahead)} s ${ahead > 0 ? 'ahead of' : 'behind'} the instance's`
      : ''
  const { requestId } = head
  return `${requestId === null ? '' : `, request ${redactHeader('x-request-id', requestId, maskKey)}`}${clock}`
}

/** Why it failed, in words that are not the instance's. */
function reasonOf(error: CallError): string {
  if (error instanceof ApiError) return `${error.status} ${/^\w{1,40}$/.test(error.code) ? error.code : ''}`
  return error instanceof ContractError ? `${error.status}, no answer of this service` : error.code
}
