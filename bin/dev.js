// Builds and runs the service with an account, and repeats that after each change.
import { spawn, spawnSync } from 'node:child_process'
import { watch } from 'node:fs'
import { root } from './version.js'

const settleMs = 100 // an editor writes a file in several steps
let service
let timer

function build() {
  return spawnSync(process.execPath, ['bin/build.js'], { cwd: root, stdio: 'inherit' }).status === 0
}

function start() {
  service = spawn(process.execPath, ['bin/consentctl.cjs', 'serve', '--quickstart'], {
    cwd: root,
    stdio: 'inherit',
  })
}

/** Stops the previous service first: both need its port and the lock of its data folder. */
function restart() {
  if (!build()) return
  if (service.exitCode !== null || service.signalCode !== null) return start()
  service.once('exit', start)
  service.kill('SIGTERM')
}

if (!build()) process.exit(1)
start()
for (const folder of ['src', 'server']) {
  watch(`${root}${folder}`, { recursive: true }, () => {
    clearTimeout(timer)
    timer = setTimeout(restart, settleMs)
  })
}
