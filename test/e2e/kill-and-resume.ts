import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { expect } from 'vitest'
import { start } from '../support/cli.ts'
import { startHoldingProxy } from './holding-proxy.ts'

interface Campaign {
  readonly instance: string
  /** With the folder of the state. */
  readonly env: Readonly<Record<string, string>>
  /** The command, which takes `--resume last`. */
  readonly command: string
  readonly args: readonly string[]
  /** Method of the requests that are held. */
  readonly method: string
  readonly kills: number
  /** Returns how many requests pass before one is held, and flags of that run. */
  plan(killed: number): { readonly requests: number; readonly flags?: readonly string[] }
}

/** Returns the jobs of bulk commands that can be resumed. */
export function jobsIn(env: Campaign['env']): string[] {
  return readdirSync(join(String(env['CONSENTCTL_STATE_DIR']), 'jobs')).filter(name => name.endsWith('.job'))
}

/**
 * Runs a bulk command through a proxy. Kills it `kills` times, each time at a random moment while a request is held, and resumes
 * it. No run can end before it is killed, because the proxy holds its requests. Returns the rows of the last run.
 */
export async function killAndResume<Row>({ instance, env, command, args, method, kills, plan }: Campaign) {
  const proxy = await startHoldingProxy(instance, method)
  const proxied = { ...env, CONSENTCTL_BASE_URL: proxy.url }
  try {
    for (let killed = 0; killed < kills; killed += 1) {
      const { requests, flags = [] } = plan(killed)
      const isHeld = proxy.hold(requests, Math.random() < 0.5)
      const words = killed > 0 ? ['--resume', 'last'] : args
      const { child, ended } = start([command, ...words, ...flags, '-o', 'ndjson'], proxied)
      const isEnded = ended.then(end => Promise.reject(new Error(`ended before it was killed: ${end.stderr}`)))
      await Promise.race([isHeld, isEnded])
      await delay(Math.random() * 50)
      child.kill('SIGKILL')
      expect((await ended).signal).toBe('SIGKILL')
      expect(jobsIn(env), 'the job of a run that was killed').toHaveLength(1)
      proxy.release()
    }
    const { code, stdout, stderr } = await start([command, '--resume', 'last', '-o', 'ndjson'], proxied).ended
    const rows = stdout.split('\n').filter(Boolean)
    return { code, stderr, rows: rows.map(row => JSON.parse(row) as Row) }
  } finally {
    proxy.close()
  }
}
