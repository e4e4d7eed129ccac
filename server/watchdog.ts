import { url as debuggerUrl } from 'node:inspector'
import { Worker } from 'node:worker_threads'

/** Arrays of one integer, in memory that both threads share. */
export interface WatchdogData {
  readonly beats: Int32Array
  readonly isDebugged: Int32Array
  readonly tickMs: number
  readonly timeoutMs: number
}

/** Between two beats of the event loop, and between two looks at them. */
const tickMs = 250

const workerFile = new URL('./watchdog-worker.js', import.meta.url)

/**
 * Ends the process if its event loop does not turn for `timeoutSeconds`, for example in an endless loop, so that it can be
 * restarted. Not while a debugger can stop the loop. A timeout of 0 disables it.
 */
export function startWatchdog(timeoutSeconds: number): { stop(): Promise<unknown> } | null {
  if (timeoutSeconds === 0) return null
  const beats = new Int32Array(new SharedArrayBuffer(4))
  const isDebugged = new Int32Array(new SharedArrayBuffer(4))
  const worker = new Worker(workerFile, {
    workerData: { beats, isDebugged, tickMs, timeoutMs: timeoutSeconds * 1000 } satisfies WatchdogData,
    resourceLimits: { maxYoungGenerationSizeMb: 1, stackSizeMb: 1 },
  })
  worker.unref()
  const timer = setInterval(() => {
    Atomics.add(beats, 0, 1)
    Atomics.store(isDebugged, 0, debuggerUrl() === undefined ? 0 : 1)
  }, tickMs).unref()
  return {
    stop: () => {
      clearInterval(timer)
      return worker.terminate()
    },
  }
}
