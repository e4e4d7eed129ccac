import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import { type AddressInfo, isIPv6 } from 'node:net'
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import type { WebhookAttempt } from '../../src/contract/index.ts'
import type { Load } from '../admission.ts'
import { dbErrorClass, withTimeout } from '../db/errors.ts'
import type { Monitor } from '../health/monitor.ts'
import { readOnlyReason } from '../health/monitor.ts'
import type { Observer } from '../http/logging.ts'
import { explainListenError } from '../http/server.ts'
import type { TimestampCounts } from '../timestamps/job.ts'
import type { Facts } from './queries.ts'

type Metrics = ReturnType<typeof createMetrics>

/** Seconds; a request's deadline is 5. */
const buckets = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

/** A scraper waits ten seconds by default. */
const factsTimeoutMs = 2000

export function createMetrics() {
  const registry = new Registry()
  const registers = [registry]
  collectDefaultMetrics({ register: registry })
  const counter = <L extends string>(name: string, help: string, ...labelNames: L[]) =>
    new Counter({ name, help, labelNames, registers })
  /** Read at each scrape. */
  const measure = (Kind: typeof Counter | typeof Gauge, name: string, help: string, read: () => number) =>
    new Kind({
      name,
      help,
      registers,
      collect() {
        this.reset()
        this.inc(read())
      },
    })
  const measureLoad = (Kind: typeof Counter | typeof Gauge, name: string, help: string, read: (load: Load) => number) =>
    new Kind({
      name,
      help,
      labelNames: ['flow'],
      registers,
      collect() {
        this.reset()
        for (const [flow, load] of loads) this.inc({ flow }, read(load()))
      },
    })
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
  const failed = 'Requests failed by the database, by class of the SQLSTATE, else `connection`.'
  const failures = counter('consentctl_database_errors_total', failed, 'class')
  const retried = 'Retried database work, by class of the SQLSTATE.'
  const retries = counter('consentctl_database_retries_total', retried, 'class')
  const dated = 'Audit entries dated before a checkpoint without them.'
  const backdated = counter('consentctl_backdated_entries_total', dated)
  const timestamps = counter('consentctl_timestamps_total', 'Checkpoint timestamps stored by this node.')
  const unstamped = 'Failed requests for a timestamp, by reason: openssl, unreachable, status or invalid.'
  const timestampFailures = counter('consentctl_timestamp_failures_total', unstamped, 'reason')
  const unpurged = counter(
    'consentctl_purge_failures_total',
    'Records that a purge left, and other parts of it that failed.',
  )
  const attempts = counter('consentctl_webhook_attempts_total', 'Attempts to deliver to webhooks.', 'result')
  const last = new Gauge({
    name: 'consentctl_task_last_success_timestamp_seconds',
    help: 'Unix time of the last run of a background job that succeeded on this node.',
    labelNames: ['task'],
    registers,
  })
  const taskFailures = counter('consentctl_task_failures_total', 'Runs of a background job that failed.', 'task')
  let countDropped = () => 0
  measure(Counter, 'consentctl_log_lines_dropped_total', 'Log lines dropped because stderr was not read.', () =>
    countDropped(),
  )
  let monitor: Monitor | undefined
  measure(Gauge, 'consentctl_writable', '1 if the node accepts writes, 0 if it only reads.', () =>
    monitor && readOnlyReason(monitor) === null ? 1 : 0,
  )
  const ahead = 'Seconds by which the node’s clock is ahead of the database’s.'
  measure(Gauge, 'consentctl_clock_offset_seconds', ahead, () => (monitor?.clockOffsetMs ?? 0) / 1000)
  let facts: Facts | null = null
  let read = async (): Promise<Facts | null> => null
  const measureFact = (name: string, help: string, pick: (facts: Facts) => number | null) =>
    new Gauge({
      name,
      help,
      registers,
      collect() {
        this.remove()
        const value = facts && pick(facts)
        if (value !== null) this.set(value)
      },
    })
  const overdue = 'Open requests of data subjects whose last day is over.'
  measureFact('consentctl_requests_overdue', overdue, each => each.overdue)
  const covered = 'Unix time of the newest checkpoint of any account.'
  measureFact('consentctl_last_checkpoint_timestamp_seconds', covered, each => each.checkpointAt)
  const verified = 'Unix time at which an admin verify of the whole database last ended.'
  measureFact('consentctl_last_verify_timestamp_seconds', verified, each => each.verifiedAt)
  measureFact('consentctl_last_verify_findings', 'What it found.', each => each.findings)
  const failing = 'Webhooks that fail or are paused.'
  measureFact('consentctl_webhooks_failing', failing, each => each.failingWebhooks)
  const loads = new Map<string, () => Load>()
  measureLoad(Gauge, 'http_requests_in_flight', 'Requests in flight.', load => load.running)
  measureLoad(Gauge, 'http_requests_waiting', 'Requests that wait for a slot.', load => load.waiting)
  measureLoad(Counter, 'http_requests_shed_total', 'Requests rejected for overload.', load => load.shed)
  const observer: Observer = {
    onRequestEnd: ({ method, route, status, milliseconds, error, serverError, retries: codes }) => {
      const labels = { method, route: route ?? 'none', status: String(status) }
      requests.inc(labels)
      durations.observe(labels, milliseconds / 1000)
      if (error === 'quota_exceeded') quota.inc()
      if (error === 'rate_limited') rate.inc()
      if (serverError?.code) failures.inc({ class: dbErrorClass(serverError.code) })
      for (const code of codes) retries.inc({ class: dbErrorClass(code) })
    },
    watchLoad: (flow, read) => void loads.set(flow, read),
  }
  const counts: TimestampCounts = {
    countTimestamp: () => timestamps.inc(),
    countTimestampFailure: reason => timestampFailures.inc({ reason }),
  }
  return {
    registry,
    observer,
    ...counts,
    countPurgeFailure: () => unpurged.inc(),
    countWebhookAttempt: ({ problem }: WebhookAttempt) =>
      attempts.inc({ result: problem === null ? 'delivered' : 'failed' }),
    onJobEnd: (task: string, isSuccess: boolean) =>
      isSuccess ? last.set({ task }, Date.now() / 1000) : taskFailures.inc({ task }),
    countBackdated: (entries: number) => backdated.inc(entries),
    watchLog: (read: () => number) => {
      countDropped = read
    },
    watchFacts: (reads: () => Promise<Facts>) => {
      read = reads
    },
    /** Leaves the facts out if the database does not answer in time. */
    refresh: async () => {
      facts = await withTimeout(read(), factsTimeoutMs).catch(() => null)
    },
    watchMonitor: (watched: Monitor) => {
      monitor = watched
    },
  }
}

export interface MetricsServer extends Omit<Metrics, 'registry'> {
  readonly url: string
  close(): Promise<void>
}

const path = '/metrics'

/**
 * Serves Prometheus' text format, without a credential; port 0 picks a free one.
 * @throws OperatorError if the port is in use
 */
export async function startMetrics(port: number, host = '127.0.0.1'): Promise<MetricsServer> {
  const metrics = createMetrics()
  const { registry: _, ...observers } = metrics
  const server = createMetricsServer(metrics)
  try {
    await once(server.listen(port, host), 'listening')
  } catch (cause) {
    throw explainListenError(cause, { host, port }, 'choose another in METRICS_HOST or METRICS_PORT')
  }
  return {
    url: `http://${isIPv6(host) ? `[${host}]` : host}:${(server.address() as AddressInfo).port}${path}`,
    ...observers,
    close: async () => {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
}

function createMetricsServer({ registry, refresh }: Metrics): Server {
  return createServer(async ({ method, url }, response) => {
    if (url?.split('?')[0] !== path) return void response.writeHead(404).end()
    if (method !== 'GET') return void response.writeHead(405, { allow: 'GET' }).end()
    await refresh()
    response.writeHead(200, { 'content-type': registry.contentType }).end(await registry.metrics())
  })
}
