// What a start costs: CPU time (user and system, every thread) of whole processes, as ratios to a bare one.
//
// bash's `time` tells it to the millisecond, from getrusage(2) of the children it has waited for; Linux counts their sum in
// nanoseconds. A sample is three starts in a row, so its steps are a third of a millisecond. Samples of all commands
// take turns, so that what else the machine does falls on all of them alike, and the median leaves out the rest.
// NODE_EXTRA_CA_CERTS alone doubles what bare Node 20 costs, so the settings of Node are left out unless --inherit is given.
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'

const { values: options } = parseArgs({
  options: {
    samples: { type: 'string', default: '25' },
    /** The Node.js that all ratios are to, and that runs the script. */
    node: { type: 'string', default: process.execPath },
    /** Whether the environment's NODE_… variables count. */
    inherit: { type: 'boolean', default: false },
    /** A binary that needs no Node.js, to measure in the place of the script. */
    binary: { type: 'string' },
  },
})
const script = fileURLToPath(new URL('../../bin/consentctl.cjs', import.meta.url))
const consentctl = options.binary ? [options.binary] : [options.node, script]
const perSample = 3

const bareGet = `
  const { CONSENTCTL_BASE_URL: url, CONSENTCTL_API_KEY: key } = process.env
  const headers = { authorization: 'Bearer ' + key }
  require('node:http').get(url + '/api/v1/consents/a1', { headers }, response => {
    let text = ''
    response.setEncoding('utf8').on('data', chunk => (text += chunk)).on('end', () => process.stdout.write(text))
  })`

/** By name: the command, what its CPU time is compared with, and how many times that it may take. */
const measured = {
  'node -e 0': { command: [options.node, '-e', '0'] },
  'node:http GET': { command: [options.node, '-e', bareGet] },
  '--version': { command: [...consentctl, '--version'], base: 'node -e 0', bound: 1.15 },
  'get of one record': { command: [...consentctl, 'get', 'a1'], base: 'node:http GET', bound: 1.6 },
  'list of 50 records': { command: [...consentctl, 'list'], base: 'node:http GET', bound: 1.6 },
}

/** Milliseconds of CPU that each of some starts took on average. Throws when one does not end with 0. */
async function sample(command, env, starts = perSample) {
  const line = `TIMEFORMAT='%3U %3S'; time for ((i = 0; i < ${starts}; i++)); do "$@" >/dev/null </dev/null || exit; done`
  const child = spawn('bash', ['-c', line, 'bash', ...command], { env, stdio: ['ignore', 'ignore', 'pipe'] })
  let stderr = ''
  child.stderr.on('data', chunk => {
    stderr += String(chunk)
  })
  const code = await new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', resolve)
  })
  const [, user, system] = /^(\d+\.\d{3}) (\d+\.\d{3})\n$/.exec(stderr) ?? []
  if (code !== 0 || system === undefined) throw new Error(`${command.join(' ')} ended with ${code}: ${stderr}`)
  return ((Number(user) + Number(system)) * 1000) / starts
}

/** Answers with one record or with a page of fifty, from a process of its own. */
const answers = `
  const record = n => ({
    id: '01939d2c-7b1a-7c3e-9a51-2f6a1f0d' + String(n).padStart(4, '0'),
    site_id: '01939d2c-7b1a-7c3e-9a51-2f6a1f0d9b11', consent_id: null, subject_id: 'maria@example.com', country: 'IT',
    region: null, user_agent: 'Mozilla/5.0', accepted: true, preferences: { marketing: true, statistics: false },
    policy_version: 3, created_at: '2026-01-31T09:30:00.000Z', updated_at: '2026-01-31T09:30:00.000Z', deleted_at: null,
  })
  const one = JSON.stringify(record(1))
  const page = JSON.stringify({ data: Array.from({ length: 50 }, (_, n) => record(n)), limit: 100, next_cursor: null })
  const server = require('node:http').createServer(({ url }, response) => {
    response.setHeader('content-type', 'application/json')
    response.end(url.includes('/consents/') ? one : page)
  })
  server.listen(0, '127.0.0.1', () => console.log('http://127.0.0.1:' + server.address().port))`

async function serve() {
  const child = spawn(options.node, ['-e', answers], { stdio: ['ignore', 'pipe', 'inherit'] })
  for await (const url of createInterface({ input: child.stdout })) return { url, stop: () => child.kill() }
  throw new Error('the server of the measurement did not start')
}

function median(numbers) {
  return numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)]
}

async function measure(env) {
  const commands = Object.entries(measured)
  const samples = Object.fromEntries(commands.map(([name]) => [name, []]))
  for (const [, { command }] of commands) await sample(command, env, 1) // reads files from the disk, fills caches
  for (let round = 0; round < Number(options.samples); round += 1) {
    for (const [name, { command }] of commands) samples[name].push(await sample(command, env))
  }
  return samples
}

/** Prints the table, and resolves to whether everything is within its bound. */
function report(samples) {
  const line = cells =>
    `${cells[0].padEnd(20)}${cells
      .slice(1)
      .map(cell => cell.padStart(cell.length > 8 ? 15 : 9))
      .join('')}\n`
  process.stdout.write(line(['CPU ms of a start', 'median', 'min', 'max', 'ratio', 'bound', 'to']))
  const rows = Object.entries(measured).map(([name, { base, bound }]) => {
    const numbers = samples[name]
    const ratio = base ? median(numbers) / median(samples[base]) : null
    const shown = [median(numbers), Math.min(...numbers), Math.max(...numbers)].map(ms => ms.toFixed(1))
    process.stdout.write(line([name, ...shown, ...(base ? [ratio.toFixed(2), bound.toFixed(2), base] : [])]))
    return { name, isOver: ratio > bound }
  })
  const over = rows.filter(({ isOver }) => isOver).map(({ name }) => name)
  if (over.length > 0) process.stdout.write(`over its bound: ${over.join(', ')}\n`)
  return over.length === 0
}

const folder = mkdtempSync(join(tmpdir(), 'consentctl-bench-'))
const server = await serve()
try {
  const settings = Object.entries(process.env).filter(([name]) => name.startsWith('NODE_'))
  const env = {
    ...(options.inherit && Object.fromEntries(settings)),
    PATH: process.env.PATH,
    HOME: folder,
    CONSENTCTL_BASE_URL: server.url,
    CONSENTCTL_API_KEY: 'sk-measured',
  }
  process.exitCode = report(await measure(env)) ? 0 : 1
} finally {
  server.stop()
  rmSync(folder, { recursive: true, force: true })
}
