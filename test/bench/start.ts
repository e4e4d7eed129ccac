import { spawnSync } from 'node:child_process'
import type { Bench } from './bench.ts'
import type { Row } from './numbers.ts'

/** What a start costs in CPU time, against `node -e 0`: the script of bench:start. */
export async function* start({ isQuick }: Bench): AsyncGenerator<Row> {
  const lines = run('test/bench/start.js', '--samples', isQuick ? '5' : '25').matchAll(/^(.{20})((?: +[\d.]+)+) *$/gm)
  const numbers = [...lines].map(([, name = '', cells = '']) => ({
    name: name.trim(),
    cells: cells.trim().split(/ +/).map(Number),
  }))
  const base = numbers.find(({ name }) => name === 'node -e 0')?.cells[0] ?? Number.NaN
  for (const { name, cells } of numbers) {
    const [median = Number.NaN, , , , most] = cells
    if (most === undefined) continue
    yield { group: 'start', name, unit: 'ms', ours: [median], bare: [base], bound: { most } }
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
