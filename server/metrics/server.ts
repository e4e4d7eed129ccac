import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { explainListen } from '../http/listening.ts'
import type { Observer } from '../http/outcome.ts'
import { createMetrics, type Metrics } from './metrics.ts'

export interface MetricsServer {
  /** Where they are, such as `http://127.0.0.1:9464/metrics`. */
  readonly url: string
  readonly observer: Observer
  close(): Promise<void>
}

const path = '/metrics'

/** For this machine alone: they tell how busy the service is, and ask nobody for a credential. */
const host = '127.0.0.1'

/**
 * Serves metrics in the text format of Prometheus, on a port of their own; 0 is a free one. Throws an OperatorError where
 * the port is taken.
 */
export async function startMetrics(port: number): Promise<MetricsServer> {
  const metrics = createMetrics()
  const server = serverOf(metrics)
  try {
    await once(server.listen(port, host), 'listening')
  } catch (cause) {
    throw explainListen(cause, { host, port }, 'choose another in METRICS_PORT')
  }
  return {
    url: `http://${host}:${(server.address() as AddressInfo).port}${path}`,
    observer: metrics.observer,
    close: async () => {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
}

function serverOf({ registry }: Metrics): Server {
  return createServer(async ({ method, url }, response) => {
    if (url?.split('?')[0] !== path) return void response.writeHead(404).end()
    if (method !== 'GET') return void response.writeHead(405, { allow: 'GET' }).end()
    response.writeHead(200, { 'content-type': registry.contentType }).end(await registry.metrics())
  })
}
