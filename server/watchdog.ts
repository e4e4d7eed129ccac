import { url as debuggerUrl } from 'node:inspector'
import { Worker } from 'node:worker_threads'

/** One integer each, shared by both threads. */
export interface WatchdogData {
  readonly beats: Int32Array
  readonly isDebugged: Int32Array
  readonly tickMs: number
  readonly timeoutMs: number
}

const tickMs = 250

const workerFile = new URL('./watchdog-worker.js', import.meta.url)

/** Ends the process if its event loop is blocked for `timeoutSeconds` (0: never) and no debugger can pause it. */
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
