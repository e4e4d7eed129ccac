import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import faults from './faults.json' with { type: 'json' }

const main = fileURLToPath(new URL('main.js', import.meta.url))

/** As `npm run simulate` does: in a process of its own, without the tests' timers and handlers. */
function simulate(...args: string[]): Promise<{ code: number; output: string }> {
  return new Promise(resolve => {
    execFile(process.execPath, ['--max-semi-space-size=64', main, ...args], (error, stdout, stderr) =>
      resolve({ code: Number(error?.code ?? 0), output: stdout + stderr }),
    )
  })
}

const timeout = 600_000

/** Faults, and the schedule to begin with: rare ones are found after hundreds. `npm run simulate -- --fault ID` finds all of faults.json. */
const planted: Record<string, number> = {
  pool: 1,
  retry: 600,
  'batcher-results': 1,
  'quota-settle': 1,
  'jobs-ahead': 1250,
  'list-end': 1,
  'feed-place': 1,
}

const schedules = process.env['CONSENTCTL_TEST_SCHEDULES'] || '1000'

describe('Simulation', () => {
  it(`keeps all guarantees in ${schedules} schedules`, { timeout }, async () => {
    const { code, output } = await simulate('--schedules', schedules)
    expect(output).toMatch(`${schedules} schedules kept every promise`)
    expect(code).toBe(0)
  })

  it('replays a schedule event by event, alone and after others', { timeout }, async () => {
    const digestOf = ({ output }: { output: string }) => /^20 (\w+)$/m.exec(output)?.[1]
    const [series, shorter, alone] = await Promise.all([
      simulate('--digests', '--schedules', '20'),
      simulate('--digests', '--schedules', '3', '--seed', '18'),
      simulate('--digests', '--schedules', '1', '--seed', '20'),
    ])
    expect(digestOf(series)).toMatch(/^[\da-f]{8}$/)
    expect([digestOf(shorter), digestOf(alone)]).toEqual([digestOf(series), digestOf(series)])
  })

  it.each(faults.filter(({ id }) => id in planted))(
    'detects a planted fault: $meaning',
    { timeout },
    async ({ id }) => {
      const { code, output } = await simulate('--fault', id, '--schedules', schedules, '--seed', String(planted[id]))
      process.stderr.write(`${id}: ${output.split('\n')[0]}\n`)
      expect(output).toMatch(/^schedule \d+ breaks a promise/)
      expect(code).toBe(1)
    },
  )
})
