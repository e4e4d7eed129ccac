// This thread ends the process if the main thread is blocked.
import { write } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { workerData } from 'node:worker_threads'
import type { WatchdogData } from './watchdog.ts'

const writeTimeoutMs = 500

const { beats, isDebugged, tickMs, timeoutMs } = workerData as WatchdogData
watch()
await Promise.race([report(), delay(writeTimeoutMs)]) // stderr may have no reader
await end()

/** Reads no clock: a suspended process pauses this thread too. */
function watch(): void {
  let seen = 0
  for (let silentMs = 0; silentMs <= timeoutMs; silentMs += tickMs) {
    Atomics.wait(isDebugged, 0, Atomics.load(isDebugged, 0), tickMs)
    if (Atomics.load(beats, 0) !== seen || Atomics.load(isDebugged, 0) === 1) silentMs = -tickMs
    seen = Atomics.load(beats, 0)
  }
}

function report(): Promise<void> {
  const msg = `the event loop has been blocked for ${timeoutMs / 1000} s: the watchdog ends the process so that it is restarted`
  const line = JSON.stringify({ level: 60, time: new Date().toISOString(), msg })
  return new Promise(resolve => write(2, `${line}\n`, () => resolve()))
}

/** Process 1 of a container survives the signal, so the inspector interrupts its loop. */
async function end(): Promise<void> {
  process.kill(process.pid, 'SIGKILL')
  const { Session } = await import('node:inspector')
  const session = new Session()
  session.connectToMainThread()
  session.post('Runtime.evaluate', { expression: 'process.reallyExit(1)' })
}
