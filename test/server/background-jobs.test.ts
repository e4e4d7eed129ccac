import { setTimeout as delay } from 'node:timers/promises'
import { expect, it, vi } from 'vitest'
import { startJobs } from '../../server/background-jobs.ts'

/** Collects what jobs log, by level. */
function listening() {
  const told: unknown[] = []
  const log = (level: string) => (fields: object, message: string) => void told.push([level, fields, message])
  return { told, logger: { info: log('info'), error: log('error') } as never }
}

it('startJobs › repeats a job and logs its result, unless that is null', async () => {
  const { told, logger } = listening()
  let runs = 0
  const job = { name: 'counting', intervalMs: 5, run: async () => (++runs % 2 === 0 ? { runs } : null) }
  const jobs = startJobs([job], { logger })
  await vi.waitFor(() => expect(runs).toBeGreaterThan(4))
  await jobs.stop()
  expect(told.slice(0, 2)).toEqual([
    ['info', { runs: 2 }, 'counting'],
    ['info', { runs: 4 }, 'counting'],
  ])
  const last = runs
  await delay(30)
  expect(runs).toBe(last)
})

it('startJobs › continues after a failure, reports the end of each run, and does not log messages of the database', async () => {
  const { told, logger } = listening()
  const failures = [
    Object.assign(new Error('Key (subject_id)=(maria) exists'), { code: '23505' }),
    new Error('its own words'),
  ]
  const run = async () => {
    const failure = failures.shift()
    if (failure) throw failure
    return { done: true }
  }
  const ends: boolean[] = []
  const onEnd = (_job: string, isSuccess: boolean) => void ends.push(isSuccess)
  const jobs = startJobs([{ name: 'failing', intervalMs: 1, run }], { logger, onEnd })
  await vi.waitFor(() => expect(told.length).toBeGreaterThan(2))
  await jobs.stop()
  expect(told.slice(0, 3)).toEqual([
    ['error', { code: '23505' }, 'failing failed'],
    ['error', { cause: 'its own words' }, 'failing failed'],
    ['info', { done: true }, 'failing'],
  ])
  expect(ends.slice(0, 3)).toEqual([false, false, true])
})

it('startJobs › when stopped, aborts the running job and waits for it', async () => {
  const { logger } = listening()
  let hasEnded = false
  const run = async (signal: AbortSignal) => {
    await new Promise(resolve => signal.addEventListener('abort', resolve))
    await delay(20)
    hasEnded = true
    return null
  }
  const jobs = startJobs([{ name: 'waiting', intervalMs: 1, run }], { logger })
  await delay(30)
  await jobs.stop()
  expect(hasEnded).toBe(true)
})

it('startJobs › does not start a job after stop', async () => {
  const { logger } = listening()
  const run = vi.fn(async () => null)
  await startJobs([{ name: 'late', intervalMs: 60_000, run }], { logger }).stop()
  expect(run).not.toHaveBeenCalled()
})

it('startJobs › when the interval exceeds the longest timer, does not run immediately', async () => {
  const run = vi.fn(async () => null)
  const jobs = startJobs([{ name: 'rare', intervalMs: 2 ** 32, run }], { logger: listening().logger })
  await delay(50)
  await jobs.stop()
  expect(run).not.toHaveBeenCalled()
})
