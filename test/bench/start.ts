import { spawnSync } from 'node:child_process'
import type { Bench } from './bench.ts'
import type { Row } from './numbers.ts'

/** What a start costs in CPU time, against a bare Node.js: the script of bench:start. */
export async function* start({ isQuick }: Bench): AsyncGenerator<Row> {
  const lines = run('test/bench/start.js', '--samples', isQuick ? '5' : '25').matchAll(/^(.{20})((?: +[\d.]+)+)(.*)$/gm)
  const medians = new Map<string, number>()
  for (const [, name = '', cells = '', base = ''] of lines) {
    const [median = Number.NaN, , , , most] = cells.trim().split(/ +/).map(Number)
    medians.set(name.trim(), median)
    const bare = medians.get(base.trim())
    if (most === undefined || bare === undefined) continue
    yield { group: 'start', name: name.trim(), unit: 'ms', ours: [median], bare: [bare], bound: { most } }
  }
}

/** Rows of a table written per second, against cli-table3 (test/bench/rows.js). */
export async function* rows(): AsyncGenerator<Row> {
  const { rows_per_second, times_cli_table3 } = JSON.parse(run('test/bench/rows.js')) as Record<string, number>
  const ours = rows_per_second ?? Number.NaN
  const bare = ours / (times_cli_table3 ?? Number.NaN)
  const promised = { notes: 'at least 50,000', isOver: !(ours >= 50_000) }
  yield { group: 'rows', name: 'rows of a table', unit: '/s', ours: [ours], bare: [bare], ...promised }
}

/** What a script of this folder prints; that something is out of its bound is in there. */
function run(...args: string[]): string {
  return spawnSync(process.execPath, args, { encoding: 'utf8' }).stdout
}
