// Outlives a test run, however the run ends (Ctrl-C and SIGKILL too), and removes what it left: processes and files.
// usage: node run-watchdog.js FOLDER, with a pipe from the run as stdin, which closes when the run is gone
import { readdirSync, readFileSync, rmSync } from 'node:fs'
import { basename } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'

const folder = process.argv[2]
const graceMs = 5000

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => {})
for await (const _ of process.stdin); // until the run is gone

const deadline = Date.now() + graceMs
const asked = new Set()
for (let left = leftovers(); left.length > 0; left = leftovers()) {
  for (const pid of left.filter(each => !asked.has(each))) {
    send(pid, 'SIGCONT') // a stopped process cannot end
    send(pid, 'SIGINT') // PostgreSQL rolls back and gives its shared memory back
    asked.add(pid)
  }
  if (Date.now() > deadline) for (const pid of left) send(pid, 'SIGKILL')
  await delay(100)
}
for (const left of [folder, `/dev/shm/${basename(folder)}`]) {
  rmSync(left, { recursive: true, force: true, maxRetries: 10 })
}

/** Returns the processes that have the folder in their arguments or environment; none where there is no /proc. */
function leftovers() {
  const pids = readable(() => readdirSync('/proc'), []).filter(name => /^\d+$/.test(name))
  return pids
    .map(Number)
    .filter(
      pid =>
        pid !== process.pid &&
        ['cmdline', 'environ'].some(name =>
          readable(() => readFileSync(`/proc/${pid}/${name}`, 'latin1'), '').includes(folder),
        ),
    )
}

function readable(read, otherwise) {
  try {
    return read()
  } catch {
    return otherwise // the process is gone, or of another user
  }
}

function send(pid, signal) {
  try {
    process.kill(pid, signal)
  } catch {
    // gone
  }
}
