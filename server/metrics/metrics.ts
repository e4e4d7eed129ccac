import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import type { Load } from '../admission.ts'
import { dbErrorClass } from '../db/errors.ts'
import type { Observer, Outcome } from '../http/logging.ts'
import { explainListen } from '../http/server.ts'

interface Metrics {
  readonly registry: Registry
  readonly observer: Observer
}

/** Seconds up to which answers are counted: the deadline is 5. */
const buckets = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

/** Every metric, in a registry of its own. No label says who asked, or for what. */
export function createMetrics(): Metrics {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  const count = counters(registry)
  const looks = new Map<string, () => Load>()
  watchLoads(registry, looks)
  return {
    registry,
    observer: {
      answered: outcome => count(outcome),
      watch: (flow, look) => void looks.set(flow, look),
    },
  }
}

function counters(registry: Registry): (outcome: Outcome) => void {
  const registers = [registry]
  const counter = <L extends string>(name: string, help: string, ...labelNames: L[]) =>
    new Counter({ name, help, labelNames, registers })
  const labelNames = ['method', 'route', 'status'] as const
  const requests = counter('http_requests_total', 'Requests that are over.', ...labelNames)
  const durations = new Histogram({
    name: 'http_request_duration_seconds',
    help: 'Seconds from the headers of a request to the end of its answer.',
    labelNames,
    buckets,
    registers,
  })
  const quota = counter('consentctl_quota_refusals_total', 'Requests over a monthly quota.')
  const rate = counter('consentctl_rate_limited_total', 'Requests over a limit on their rate.')
  const failures = counter(
    'consentctl_database_errors_total',
    'Requests that failed for the database, by the class of the SQLSTATE; `connection` where there was none.',
    'class',
  )
  const retries = counter(
    'consentctl_database_retries_total',
    'Times that work on the database was tried again, by the class of the SQLSTATE that it failed with.',
    'class',
  )
  const bugs = counter(
    'consentctl_gate_bugs_total',
    'Values that the database refused and a check before it should have. Each is a bug of this program.',
  )
  return outcome => {
    const { method, route, error, fault } = outcome
    const labels = { method, route: route ?? 'none', status: String(outcome.status) }
    requests.inc(labels)
    durations.observe(labels, outcome.milliseconds / 1000)
    if (error === 'quota_exceeded') quota.inc()
    if (error === 'rate_limited') rate.inc()
    if (fault?.code) failures.inc({ class: dbErrorClass(fault.code) })
    if (fault && error === 'invalid_request') bugs.inc()
    for (const code of outcome.retries) retries.inc({ class: dbErrorClass(code) })
  }
}

/** What is read when somebody asks. */
function watchLoads(registry: Registry, looks: ReadonlyMap<string, () => Load>): void {
  const registers = [registry]
  const labelNames = ['flow'] as const
  const gauge = (name: string, help: string, of: (load: Load) => number) =>
    new Gauge({
      name,
      help,
      labelNames,
      registers,
      collect() {
        for (const [flow, look] of looks) this.set({ flow }, of(look()))
      },
    })
  gauge('http_requests_in_flight', 'Requests that are being worked on.', load => load.running)
  gauge('http_requests_waiting', 'Requests that wait for their turn.', load => load.waiting)
  new Counter({
    name: 'http_requests_shed_total',
    help: 'Requests that were refused because too many were there.',
    labelNames,
    registers,
    collect() {
      this.reset()
      for (const [flow, look] of looks) this.inc({ flow }, look().shed)
    },
  })
}

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
