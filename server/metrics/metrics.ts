import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import type { Load } from '../admission.ts'
import { dbErrorClass } from '../db/errors.ts'
import type { Monitor } from '../health/monitor.ts'
import { readOnlyReason } from '../health/state.ts'
import type { Observer, RequestSummary } from '../http/logging.ts'
import { explainListenError } from '../http/server.ts'
import type { TimestampCounts } from '../timestamps/job.ts'

interface Metrics extends TimestampCounts {
  readonly registry: Registry
  readonly observer: Observer
  watchLog(countDropped: () => number): void
  countBackdated(entries: number): void
  watchMonitor(monitor: Monitor): void
}

/** Seconds; a request's deadline is 5. */
const buckets = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

export function createMetrics(): Metrics {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  const count = addRequestMetrics(registry)
  const loads = new Map<string, () => Load>()
  addLoadMetrics(registry, loads)
  let countDropped = () => 0
  let monitor: Monitor | undefined
  addMonitorMetrics(registry, () => monitor)
  addCounter(registry, {
    name: 'consentctl_log_lines_dropped_total',
    help: 'Log lines dropped because stderr was not read.',
    read: counter => counter.inc(countDropped()),
  })
  const backdated = new Counter({
    name: 'consentctl_backdated_entries_total',
    help: 'Audit entries dated before a checkpoint without them.',
    registers: [registry],
  })
  return {
    registry,
    ...addTimestampMetrics(registry),
    countBackdated: entries => backdated.inc(entries),
    observer: {
      onRequestEnd: count,
      watchLoad: (flow, read) => void loads.set(flow, read),
    },
    watchLog: read => {
      countDropped = read
    },
    watchMonitor: watched => {
      monitor = watched
    },
  }
}

function addRequestMetrics(registry: Registry): (summary: RequestSummary) => void {
  const registers = [registry]
  const counter = <L extends string>(name: string, help: string, ...labelNames: L[]) =>
    new Counter({ name, help, labelNames, registers })
  const labelNames = ['method', 'route', 'status'] as const
  const requests = counter('http_requests_total', 'Requests that have ended.', ...labelNames)
  const durations = new Histogram({
    name: 'http_request_duration_seconds',
    help: 'Seconds from the headers of a request to the end of its response.',
    labelNames,
    buckets,
    registers,
  })
  const quota = counter('consentctl_quota_refusals_total', 'Requests over a monthly quota.')
  const rate = counter('consentctl_rate_limited_total', 'Requests over a rate limit.')
  const failures = counter(
    'consentctl_database_errors_total',
    'Requests failed by the database, by class of the SQLSTATE, else `connection`.',
    'class',
  )
  const retries = counter(
    'consentctl_database_retries_total',
    'Retried database work, by class of the SQLSTATE.',
    'class',
  )
  return summary => {
    const { method, route, error, serverError } = summary
    const labels = { method, route: route ?? 'none', status: String(summary.status) }
    requests.inc(labels)
    durations.observe(labels, summary.milliseconds / 1000)
    if (error === 'quota_exceeded') quota.inc()
    if (error === 'rate_limited') rate.inc()
    if (serverError?.code) failures.inc({ class: dbErrorClass(serverError.code) })
    for (const code of summary.retries) retries.inc({ class: dbErrorClass(code) })
  }
}

function addMonitorMetrics(registry: Registry, read: () => Monitor | undefined): void {
  const gauge = (name: string, help: string, measure: (monitor: Monitor) => number) =>
    new Gauge({
      name,
      help,
      registers: [registry],
      collect() {
        const monitor = read()
        if (monitor) this.set(measure(monitor))
      },
    })
  gauge('consentctl_writable', '1 if the node accepts writes, 0 if it only reads.', monitor =>
    readOnlyReason(monitor) === null ? 1 : 0,
  )
  gauge(
    'consentctl_clock_offset_seconds',
    'Seconds by which the node’s clock is ahead of the database’s.',
    ({ clockOffsetMs }) => clockOffsetMs / 1000,
  )
}

function addTimestampMetrics(registry: Registry): TimestampCounts {
  const registers = [registry]
  const timestamps = new Counter({
    name: 'consentctl_timestamps_total',
    help: 'Checkpoint timestamps stored by this node.',
    registers,
  })
  const failures = new Counter({
    name: 'consentctl_timestamp_failures_total',
    help: 'Failed requests for a timestamp, by reason: openssl, unreachable, status or invalid.',
    labelNames: ['reason'],
    registers,
  })
  return {
    countTimestamp: () => timestamps.inc(),
    countTimestampFailure: reason => failures.inc({ reason }),
  }
}

function addLoadMetrics(registry: Registry, loads: ReadonlyMap<string, () => Load>): void {
  const registers = [registry]
  const labelNames = ['flow'] as const
  const gauge = (name: string, help: string, pick: (load: Load) => number) =>
    new Gauge({
      name,
      help,
      labelNames,
      registers,
      collect() {
        for (const [flow, read] of loads) this.set({ flow }, pick(read()))
      },
    })
  gauge('http_requests_in_flight', 'Requests in flight.', load => load.running)
  gauge('http_requests_waiting', 'Requests that wait for a slot.', load => load.waiting)
  addCounter(registry, {
    name: 'http_requests_shed_total',
    help: 'Requests rejected for overload.',
    labelNames,
    read: counter => {
      for (const [flow, read] of loads) counter.inc({ flow }, read().shed)
    },
  })
}

function addCounter<L extends string = never>(
  registry: Registry,
  { read, ...options }: { name: string; help: string; labelNames?: readonly L[]; read(counter: Counter<L>): void },
): void {
  new Counter<L>({
    ...options,
    registers: [registry],
    collect() {
      this.reset()
      read(this)
    },
  })
}

export interface MetricsServer extends Omit<Metrics, 'registry'> {
  readonly url: string
  close(): Promise<void>
}

const path = '/metrics'

/** Metrics need no credential. */
const host = '127.0.0.1'

/**
 * Serves Prometheus' text format; port 0 picks a free one.
 * @throws OperatorError if the port is in use
 */
export async function startMetrics(port: number): Promise<MetricsServer> {
  const metrics = createMetrics()
  const { registry: _, ...observers } = metrics
  const server = createMetricsServer(metrics)
  try {
    await once(server.listen(port, host), 'listening')
  } catch (cause) {
    throw explainListenError(cause, { host, port }, 'choose another in METRICS_PORT')
  }
  return {
    url: `http://${host}:${(server.address() as AddressInfo).port}${path}`,
    ...observers,
    close: async () => {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
}

function createMetricsServer({ registry }: Metrics): Server {
  return createServer(async ({ method, url }, response) => {
    if (url?.split('?')[0] !== path) return void response.writeHead(404).end()
    if (method !== 'GET') return void response.writeHead(405, { allow: 'GET' }).end()
    response.writeHead(200, { 'content-type': registry.contentType }).end(await registry.metrics())
  })
}
