import { spawnSync } from 'node:child_process'
import type { Bench } from './bench.ts'
import type { Row } from './numbers.ts'

/** What a start costs, and how many rows of a table are written in a second: scripts of their own, with their own bounds. */
export async function* start({ isQuick }: Bench): AsyncGenerator<Row> {
  const samples = isQuick ? '5' : '25'
  const { stdout } = spawnSync(process.execPath, ['test/bench/start.js', '--samples', samples], {
    encoding: 'utf8',
  })
  const lines = stdout.matchAll(/^(.{20})((?: +[\d.]+)+)$/gm)
  const numbers = [...lines].map(([, name = '', cells = '']) => ({
    name: name.trim(),
    cells: cells.trim().split(/ +/).map(Number),
  }))
  const base = numbers[0]?.cells[0] ?? Number.NaN
  for (const { name, cells } of numbers.slice(1)) {
    const [median = Number.NaN, , , , most = Number.NaN] = cells
    yield { group: 'start', name, unit: 'ms', ours: [median], bare: [base], bound: { most } }
  }
}
