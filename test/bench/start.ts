import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Bench } from './bench.ts'
import { alternate, type Row } from './numbers.ts'
import { type Env, runProgram } from './processes.ts'
import { binary } from './stage.ts'

/** Has the fields in the order of the service, which the client reads without loading zod. */
const record = (number: number) => ({
  id: `01939d2c-7b1a-7c3e-9a51-2f6a1f0d${String(number).padStart(4, '0')}`,
  ...{ site_id: '01939d2c-7b1a-7c3e-9a51-2f6a1f0d9b11', consent_id: null, subject_id: 'maria@example.com' },
  ...{ country: 'IT', region: null, user_agent: 'Mozilla/5.0', accepted: true },
  ...{ preferences: { marketing: true, statistics: false }, policy_version: 3 },
  ...{ created_at: '2026-01-31T09:30:00.000Z', updated_at: '2026-01-31T09:30:00.000Z', deleted_at: null },
})
const one = JSON.stringify(record(1))
const page = JSON.stringify({ data: Array.from({ length: 50 }, (_, n) => record(n)), limit: 100, next_cursor: null })

/** Answers from its own process, which waits as a service does. */
const service = `
  const server = require('node:http').createServer(({ url }, response) => {
    response.setHeader('content-type', 'application/json')
    response.end(url.includes('/consents/') ? ${JSON.stringify(one)} : ${JSON.stringify(page)})
  })
  server.listen(0, '127.0.0.1', () => console.log('http://127.0.0.1:' + server.address().port))`

const bareGet = `
  const { CONSENTCTL_BASE_URL: url, CONSENTCTL_API_KEY: key } = process.env
  const headers = { authorization: 'Bearer ' + key }
  require('node:http').get(url + '/api/v1/consents/a1', { headers }, response => {
    let text = ''
    response.setEncoding('utf8').on('data', chunk => (text += chunk)).on('end', () => process.stdout.write(text))
  })`

const measured = [
  { name: '--version', args: [binary, '--version'], base: ['-e', '0'], most: 1.15 },
  { name: 'get of one record', args: [binary, 'get', 'a1'], base: ['-e', bareGet], most: 1.6 },
  { name: 'list of 50 records', args: [binary, 'list'], base: ['-e', bareGet], most: 1.6 },
]

/**
 * What a start costs in CPU time, against a bare Node.js. The settings of Node.js in the environment are left out, because
 * NODE_EXTRA_CA_CERTS alone doubles what a bare one costs.
 */
export async function* start({ isQuick }: Bench): AsyncGenerator<Row> {
  const home = mkdtempSync(join(tmpdir(), 'consentctl-bench-'))
  const server = spawn(process.execPath, ['-e', service], { stdio: ['ignore', 'pipe', 'inherit'] })
  const [url] = (await once(createInterface({ input: server.stdout }), 'line')) as [string]
  const env = { PATH: process.env['PATH'], HOME: home, CONSENTCTL_BASE_URL: url, CONSENTCTL_API_KEY: 'sk-measured' }
  try {
    for (const { name, args, base, most } of measured) {
      for (const command of [args, base]) await cpuMs(command, env) // reads files from the disk, fills caches
      const ours = () => cpuMs(args, env)
      const numbers = await alternate(isQuick ? 5 : 25, ours, () => cpuMs(base, env))
      yield { group: 'start', name, unit: 'ms', ...numbers, bound: { most } }
    }
  } finally {
    server.kill()
    rmSync(home, { recursive: true, force: true })
  }
}

const perSample = 3

/** Returns the milliseconds of CPU that each of some starts took on average, by bash, which uses getrusage(2). */
async function cpuMs(args: readonly string[], env: Env): Promise<number> {
  const line = `TIMEFORMAT='%3U %3S'; { time for ((i = 0; i < ${perSample}; i++)); do "$@" >/dev/null </dev/null || exit; done; } 2>&1`
  const { stdout } = await runProgram(['bash', '-c', line, 'bash', process.execPath, ...args], { env })
  const [user = Number.NaN, system = Number.NaN] = stdout.trim().split(' ').map(Number)
  return ((user + system) * 1000) / perSample
}
