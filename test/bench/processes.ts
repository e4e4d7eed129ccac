import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { request } from 'undici'
import { freePort } from '../support/postgres.ts'

export type Env = Record<string, string | undefined>

/** A program that serves on a URL. */
export interface Served {
  readonly url: string
  readonly pid: number | undefined
  /** Milliseconds of CPU that it has taken so far, all its threads. */
  cpu(): number
  /** How much memory it has taken at most so far, in MiB. */
  peak(): number
  stop(): Promise<void>
}

/** What a program took that has ended. */
export interface Ended {
  readonly milliseconds: number
  /** MiB. */
  readonly peak: number
  readonly stdout: string
}

/** A tick of the clock in /proc/PID/stat, in milliseconds (proc(5), USER_HZ). */
const tick = 10

/**
 * Starts a Node.js program that serves on the loopback port in `PORT`, and resolves when it answers. Its log goes nowhere:
 * whoever read it would take time from what is measured.
 */
export async function serveProgram(args: readonly string[], env: Env): Promise<Served> {
  const port = String(await freePort())
  const child = spawn(process.execPath, args, {
    env: { ...env, PORT: port },
    stdio: 'ignore',
  })
  const url = `http://127.0.0.1:${port}`
  await answering(url, child)
  return {
    url,
    pid: child.pid,
    cpu: () => cpuOf(child.pid),
    peak: () => peakOf(child.pid),
    stop: async () => {
      if (child.exitCode !== null || child.signalCode !== null) return
      child.kill('SIGTERM')
      await once(child, 'exit')
    },
  }
}

/** Runs a program to its end. Rejects where that is not with 0. */
export async function runProgram(
  command: readonly [string, ...string[]],
  { env, stdout = 'pipe' }: { readonly env: Env; readonly stdout?: 'pipe' | number },
): Promise<Ended> {
  const [program, ...args] = command
  const start = performance.now()
  const child = spawn(program, args, { env, stdio: ['ignore', stdout, 'pipe'] })
  let [out, error] = ['', '']
  child.stdout?.on('data', chunk => {
    out += String(chunk)
  })
  child.stderr?.on('data', chunk => {
    error += String(chunk)
  })
  const [code] = (await once(child, 'close')) as [number | null]
  const milliseconds = performance.now() - start
  if (code !== 0) throw new Error(`${program} ${args.join(' ')} ended with ${code}: ${error}`)
  const peak = Number(/^peak (\d+)$/m.exec(error)?.[1] ?? Number.NaN) / 1024
  return { milliseconds, peak, stdout: out }
}

async function answering(url: string, child: ChildProcess): Promise<void> {
  for (let attempt = 0; attempt < 500 && child.exitCode === null; attempt += 1) {
    const answer = await request(`${url}/live`).catch(() => undefined)
    if (answer) return answer.body.dump()
    await delay(20)
  }
  child.kill()
  throw new Error('a program of the benchmark did not start')
}

/** Milliseconds of CPU of a process so far, all its threads. */
export function cpuOf(pid: number | undefined): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /s, '')
    .split(' ')
  return (Number(fields[11]) + Number(fields[12])) * tick // utime and stime
}

function peakOf(pid: number | undefined): number {
  const [, kibibytes] = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? []
  return Number(kibibytes) / 1024
}
