import { type Dispatcher, ProxyAgent, request } from 'undici'
import type { Carrier } from './exchange.ts'

/** Requests through a tunnel that a proxy opens. `ca`: every authority to trust, in PEM. */
export function openProxied(proxy: string, ca: readonly string[] | null): Carrier {
  const trust = ca ? { ca: [...ca] } : {}
  const agent = new ProxyAgent({
    uri: proxy,
    requestTls: trust,
    proxyTls: trust,
    headersTimeout: 0, // whoever sends keeps the time
    bodyTimeout: 0,
  })
  return {
    close: () => void agent.destroy().catch(() => {}),
    exchange: async ({ method, url, headers, body, signal, onSent }) => {
      const dispatcher = agent.compose(telling(onSent))
      const answer = await request(url, {
        method: method as Dispatcher.HttpMethod,
        headers,
        signal,
        dispatcher,
        ...(body !== undefined && { body }),
      }).catch(error => {
        throw ofProxy(error)
      })
      return { status: answer.statusCode, headers: answer.headers, body: answer.body }
    },
  }
}

/** Tells when a request gets its connection, which is right before it is written. */
function telling(onSent: () => void): Dispatcher.DispatcherComposeInterceptor {
  return dispatch => (options, handler) =>
    dispatch(options, {
      onRequestStart: (...args) => {
        onSent()
        handler.onRequestStart?.(...args)
      },
      onRequestUpgrade: (...args) => handler.onRequestUpgrade?.(...args),
      onResponseStart: (...args) => handler.onResponseStart?.(...args),
      onResponseData: (...args) => handler.onResponseData?.(...args),
      onResponseEnd: (...args) => handler.onResponseEnd?.(...args),
      onResponseError: (...args) => handler.onResponseError?.(...args),
    })
}

/** The library tells a proxy's refusal in words alone; here it has a code of its own. */
function ofProxy(error: Error): Error {
  const status = /^Proxy response \((\d+)\)/.exec(error.message)?.[1]
  if (status === undefined) return error
  return Object.assign(new Error(`the proxy answered ${status}`), { code: `PROXY_${status}` })
}
