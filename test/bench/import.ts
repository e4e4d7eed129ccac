import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Bench } from './bench.ts'
import { alternate, type Row } from './numbers.ts'
import { runProgram } from './processes.ts'
import { runBare, runOurs } from './runs.ts'
import { binary, type Stage } from './stage.ts'

/** Concurrent requests, on both sides. */
const atOnce = 8

/** Those of a loop as a script writes it: each after the answer to the one before. */
const oneAfterAnother = 1

interface Job {
  readonly lines: number
  readonly file: string
}

/** An import of a file against a bare loop over its lines: a request for each line, and many lines in a request. */
export async function* imports({ stage: open, pairs, size, bundles }: Bench): AsyncGenerator<Row> {
  const stage = await open()
  const bundle = join(bundles, 'bare-create.js')
  const ofLines = (lines: number) => ({ lines, file: writeLines(stage, lines) })
  const bare =
    ({ lines, file }: Job, more: string[], concurrency = atOnce) =>
    async () => {
      const args = [stage.ours.url, stage.account.api_key, file, String(concurrency), ...more]
      return (lines * 1000) / (await runBare(stage, bundle, args, { lines })).milliseconds
    }
  const peaks: Record<number, number> = {}
  const ours =
    ({ lines, file }: Job, more: string[]) =>
    async () => {
      const args = ['create', '--file', file, '--concurrency', String(atOnce), '-o', 'ndjson', ...more]
      const { milliseconds, peak } = await runOurs(stage, args, { lines })
      peaks[lines] = peak
      return (lines * 1000) / milliseconds
    }
  const { stdout } = await runProgram([process.execPath, binary, 'create', '--help'], { env: stage.env })
  const hasBatches = stdout.includes('--no-batch')
  const few = ofLines(size.imported)
  const lineByLine = ours(few, hasBatches ? ['--no-batch'] : [])
  const single = await alternate(pairs, lineByLine, bare(few, []))
  yield { group: 'import', name: `${few.lines} lines`, unit: '/s', ...single, bound: { least: 0.9 } }
  const keyed = await alternate(pairs, lineByLine, bare(few, ['keys']))
  yield { group: 'import', name: `${few.lines} lines, the loop's with keys too`, unit: '/s', ...keyed }
  if (!hasBatches) return
  const many = ofLines(size.batched)
  const batches = await alternate(pairs, ours(many, []), bare(many, []))
  yield {
    group: 'import',
    name: `${many.lines} lines in batches`,
    unit: '/s',
    ...batches,
    bound: { least: 5 },
  }
  const [most = Number.NaN, least = Number.NaN] = [peaks[many.lines], peaks[few.lines]]
  const memory = { ours: [most], bare: [least], notes: 'at most 100', isOver: !(most <= 100) }
  yield { group: 'import', name: `memory: ${many.lines} lines, and ${few.lines}`, unit: 'MiB', ...memory }
  yield* history(stage, many, { pairs, bare: bare(many, []), oneByOne: bare(few, [], oneAfterAnother) })
}

interface Against {
  readonly pairs: number
  /** Records a second of the bare loop. */
  readonly bare: () => Promise<number>
  /** The same, with a request at once. */
  readonly oneByOne: () => Promise<number>
}

/** Persons of another tool, from its file to the signed receipt, against the bare loop over as many creates. */
async function* history(stage: Stage, { lines }: Job, { pairs, bare, oneByOne }: Against): AsyncGenerator<Row> {
  await stage.sql`update api_keys set scopes = scopes || '["import"]' where account_id = ${stage.account.account_id}`
  const file = join(stage.folder, `persons-${lines}.csv`)
  const row = (_: unknown, index: number) => `person-${index},2024-03-01T09:00:00Z,yes,${index % 2 === 0}\n`
  writeFileSync(file, `person,at,answer,marketing\n${Array.from({ length: lines }, row).join('')}`)
  const peaks: number[] = []
  const ours = async () => {
    const map = join(stage.folder, `map-${peaks.length}.json`)
    writeFileSync(map, JSON.stringify({ ...mapOfPersons, system: `bench-${peaks.length}` }))
    const from = ['--from', 'csv', '--map', map, '--policy-version', '1']
    const { milliseconds, peak } = await runOurs(
      stage,
      ['import', file, ...from, '--site', stage.account.site.id, '--yes'],
      {
        lines: 1,
      },
    )
    peaks.push(peak)
    return (lines * 1000) / milliseconds
  }
  const name = `${lines} persons of another tool`
  const measured = await alternate(pairs, ours, bare)
  const peak = Math.max(...peaks)
  const notes = `${Math.round(peak)} MiB, at most 100`
  yield { group: 'import', name, unit: '/s', ...measured, bound: { least: 5 }, notes }
  const script = await alternate(pairs, ours, oneByOne)
  yield { group: 'import', name: `${name}, a loop with one request at once`, unit: '/s', ...script }
}

const mapOfPersons = {
  system: 'bench',
  container: { kind: 'csv' },
  rows: 'answer',
  fields: {
    origin_id: 'person',
    given_at: 'at',
    accepted: 'answer',
    subject_id: 'person',
    'pref.marketing': 'marketing',
  },
  time: { formats: ['rfc3339'] },
  accepted: { values: { yes: 'yes', no: 'no' } },
  values: { true: 'yes', false: 'no' },
}

/** A file of this many creates, one a line. */
function writeLines({ folder, account }: Stage, lines: number): string {
  const file = join(folder, `creates-${lines}.ndjson`)
  const line = (_: unknown, index: number) => {
    const preferences = { marketing: true, analytics: false, personalisation: index % 2 === 0 }
    const draft = { site_id: account.site.id, subject_id: `imported-${index}@example.com`, accepted: true }
    return `${JSON.stringify({ ...draft, preferences })}\n`
  }
  writeFileSync(file, Array.from({ length: lines }, line).join(''))
  return file
}
