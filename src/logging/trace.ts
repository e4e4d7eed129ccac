import { ApiError, type CallError, ContractError } from '../client/errors.ts'
import { type Headers, header, type Received } from '../client/http.ts'
import type { Connection, Trace } from '../client/request.ts'
import { maxAttempts } from '../client/retry.ts'
import type { Io } from '../io/io.ts'
import { visible } from '../output/index.ts'
import { maskKey } from '../settings/key.ts'
import type { Settings } from '../settings/settings.ts'
import { redactBody, redactHeader, redactUrl } from './redact.ts'

const clockToleranceSeconds = 60

/** Logs no secrets or personal data; `isDebug` adds headers and bodies. */
export function openTrace(connection: Connection, settings: Settings, io: Io, isDebug: boolean): Trace {
  const { key } = connection
  const masked = (text: string) => (key ? text.replaceAll(key.value, maskKey(key.value)) : text)
  const log = (line: string) => void io.err.write(`${visible(masked(line))}\n`).catch(() => {})
  const debug = (mark: string, headers: Headers, body: string) => {
    if (!isDebug) return
    for (const [name, value] of Object.entries(headers)) {
      for (const each of [value ?? []].flat()) log(`${mark} ${name}: ${redactHeader(name, each, maskKey)}`)
    }
    log(`${mark} ${redactBody(body)}`)
  }
  for (const line of settingsLines(connection, settings)) log(`* ${line}`)
  return {
    waits: (error, seconds, next) =>
      log(`* retrying in ${seconds.toFixed(1)} s (attempt ${next} of ${maxAttempts}): ${reasonFor(error)}`),
    follow: async (call, request, send) => {
      const start = performance.now()
      const elapsed = () => `${Math.round(performance.now() - start)} ms`
      log(`> ${call.method} ${redactUrl(call.url, call.path)}`)
      debug('>', request.headers, request.body ?? '')
      try {
        const response = await send()
        log(`< ${response.head.status} after ${elapsed()}${requestIdAndClock(response)}`)
        debug('<', response.headers, response.text)
        return response
      } catch (error) {
        log(`< no usable response after ${elapsed()}: ${reasonFor(error as CallError)}`)
        throw error
      }
    },
  }
}

function settingsLines(connection: Connection, settings: Settings): string[] {
  const { baseUrl, key, proxy, timeout, maxWait } = connection
  const { profile, caFile } = settings
  return [
    `instance ${baseUrl} (${settings.baseUrl?.source}), profile ${profile.value} (${profile.source})`,
    key ? `key ${maskKey(key.value)} (${key.source})` : 'no key: signing in with a password',
    proxy ? `proxy ${proxy.shown} (${proxy.source})` : 'no proxy',
    ...(caFile ? [`certificate authorities added from ${caFile.value} (${caFile.source})`] : []),
    `timeout of a request: ${timeout === null ? 'default' : `${timeout / 1000} s`}; longest wait: ${maxWait} s`,
  ]
}

function requestIdAndClock({ head, headers }: Received): string {
  const date = Date.parse(header(headers, 'date') ?? '')
  const ahead = Number.isNaN(date) ? 0 : Math.round((Date.now() - date) / 1000)
  const clock =
    Math.abs(ahead) > clockToleranceSeconds
      ? `; this machine's clock is ${Math.abs(ahead)} s ${ahead > 0 ? 'ahead of' : 'behind'} the instance's`
      : ''
  const { requestId } = head
  return `${requestId === null ? '' : `, request ${redactHeader('x-request-id', requestId, maskKey)}`}${clock}`
}

/** Omits the text, which may contain personal data. */
function reasonFor(error: CallError): string {
  if (error instanceof ApiError) return `${error.status} ${/^\w{1,40}$/.test(error.code) ? error.code : ''}`
  return error instanceof ContractError ? `${error.status}, not a response of this service` : error.code
}
