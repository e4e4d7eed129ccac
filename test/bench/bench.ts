import { writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { cost } from './cost.ts'
import { dashboard } from './dashboard.ts'
import { exports } from './export.ts'
import { imports } from './import.ts'
import { log } from './log.ts'
import { isWithin, type Row } from './numbers.ts'
import { pages } from './pages.ts'
import { line, machine, table } from './report.ts'
import { rows } from './rows.ts'
import { openStage, type Stage } from './stage.ts'
import { start } from './start.ts'

/** What a group of measurements is given. */
export interface Bench {
  /** The filled database and the servers on it, set up when first asked for. */
  stage(): Promise<Stage>
  readonly pairs: number
  /** Whether a rough answer is enough. */
  readonly isQuick: boolean
  readonly size: Size
  /** Where the bundles of this folder are. */
  readonly bundles: string
  /** Takes what undoes a step, to be called in the reverse order. */
  readonly undo: (step: () => Promise<unknown> | unknown) => void
}

/** How much of each there is. */
interface Size {
  /** Records in the database, of which six in seven are live. */
  readonly records: number
  /** Records that are exported, and the same far away. */
  readonly exported: number
  readonly far: number
  /** Lines that are imported one by one, and in batches. */
  readonly imported: number
  readonly batched: number
}

const sizes: Record<'quick' | 'usual' | 'full', Size> = {
  quick: { records: 50_000, exported: 10_000, far: 5000, imported: 2000, batched: 10_000 },
  usual: { records: 1_000_200, exported: 100_000, far: 100_000, imported: 10_000, batched: 100_000 },
  full: { records: 1_200_000, exported: 1_000_000, far: 100_000, imported: 100_000, batched: 100_000 },
}

/** In the order in which they run: creates put records on top of those of the seed, shorter ones than a page is compared with. */
const groups: Record<string, (bench: Bench) => AsyncGenerator<Row>> = {
  start,
  rows,
  pages,
  cost,
  export: exports,
  import: imports,
  dashboard,
  log,
}

const usage = `npm run bench [-- [--pairs N] [--quick | --full] [--json FILE] [group …]]
groups: ${Object.keys(groups).join(', ')}
`

/** Runs the groups that the arguments name, or all; resolves to the exit code: 1 where something is out of its bound. */
export async function bench(args: string[], bundles: string): Promise<number> {
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: {
      pairs: { type: 'string', default: '5' },
      quick: { type: 'boolean', default: false },
      full: { type: 'boolean', default: false },
      json: { type: 'string' },
      help: { type: 'boolean', default: false },
    },
  })
  const unknown = positionals.filter(name => !groups[name])
  if (values.help || unknown.length > 0) {
    process.stderr.write(usage)
    return values.help ? 0 : 2
  }
  const { undo, close } = undoing()
  const isQuick = values.quick
  const size = sizes[isQuick ? 'quick' : values.full ? 'full' : 'usual']
  const { records } = size
  let stage: Promise<Stage> | undefined
  const context: Bench = {
    stage: () => {
      stage ??= openStage({ bundles, records, tell, undo })
      return stage
    },
    pairs: Number(values.pairs),
    isQuick,
    size,
    bundles,
    undo,
  }
  try {
    const all: Row[] = []
    for (const name of positionals.length > 0 ? positionals : Object.keys(groups)) {
      tell(name)
      for await (const row of groups[name]?.(context) ?? []) {
        all.push(row)
        tell(line(row))
      }
    }
    const about = { ...machine(), postgresql: (await stage)?.version ?? null, records }
    process.stdout.write(table(about, all))
    if (values.json) writeFileSync(values.json, `${JSON.stringify({ about, rows: all }, null, 1)}\n`)
    return all.every(isWithin) ? 0 : 1
  } finally {
    await close()
  }
}

/** Steps to undo at the end, or when somebody ends it before. */
function undoing() {
  const steps: (() => Promise<unknown> | unknown)[] = []
  let closing: Promise<void> | undefined
  const run = async () => {
    for (const step of steps.splice(0).reverse()) await step()
  }
  const close = () => {
    closing ??= run()
    return closing
  }
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.once(signal, () => close().finally(() => process.exit(1)))
  return { undo: (step: () => Promise<unknown> | unknown) => void steps.push(step), close }
}

function tell(text: string): void {
  process.stderr.write(`${new Date().toISOString().slice(11, 19)} ${text}\n`)
}
