import { open, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Host } from '../../../../io/io.ts'
import { makeWorkFolder } from '../../../../jobs/process.ts'
import { type Decisions, openDecisions } from './decisions.ts'
import { digestOf } from './formats.ts'
import { type Interpretation, openInterpreter } from './interpret.ts'
import type { ImportMap } from './map.ts'
import { isRefused, type LeftOut, openPartitions, type Partitions } from './partitions.ts'
import { openPersons, type Person } from './persons.ts'
import type { Prepared, Reason, Refused, SourceFile } from './prepared.ts'
import { type ReadRow, readRows } from './rows.ts'
import { openSource } from './source.ts'

export interface PrepareOptions {
  /** Folder of the jobs; needs room for the rows twice. */
  readonly folder: string
  readonly policyVersion: number | undefined
  readonly timezone: string | undefined
  /** Removes the `'` before formulas in CSV. */
  readonly unguard: boolean
  /** Later answers are rejected. */
  readonly now: Date
  readonly host: Pick<Host, 'pid' | 'kill'>
  readonly signal: AbortSignal
  /** Called for each rejected row without a person, and for each rejected person. */
  readonly onRefused: (refused: Refused) => Promise<void> | void
  /** Called before the rows are written, if nothing stops the import. */
  readonly onDecided?: () => void
}

/**
 * Writes a row per person for `POST /api/v1/consents/batch`, in constant memory and without requests. Equal input gives
 * equal bytes. The caller removes the file with its folder.
 *
 * @throws CliError invalid_data if a file is damaged; usage if the map does not fit it
 */
export async function prepare(files: readonly string[], map: ImportMap, options: PrepareOptions): Promise<Prepared> {
  const place = { part: '', line: 0 }
  const decisions = openDecisions(map, () => `${place.part}:${place.line}`)
  const interpret = openInterpreter(map, options, decisions)
  const work = await makeWorkFolder(options.folder, options.host)
  const prepared = join(work, 'rows.ndjson')
  let isKept = false
  try {
    const tally = newTally()
    const partitions = openPartitions(work)
    const parts: KnownPart[] = []
    const run: Preparation = { map, options, decisions, interpret, tally, partitions, parts, place }
    const sources: SourceFile[] = []
    for (const path of files) sources.push(await readFile(path, run))
    const undecided = decisions.undecided()
    const isStopped = undecided > 0 || tally.unreadable > 0
    if (!isStopped) options.onDecided?.()
    await writeRows(prepared, run)
    isKept = !isStopped && tally.counts.records > 0
    const path = isKept ? prepared : null
    return { path, files: sources, mapSha256: digestOf(map), values: decisions.values(), undecided, ...resultOf(tally) }
  } finally {
    if (!isKept) await rm(work, { recursive: true, force: true })
  }
}

interface KnownPart {
  readonly name: string
  readonly sha256: string
}

interface Preparation {
  readonly map: ImportMap
  readonly options: PrepareOptions
  readonly decisions: Decisions
  readonly interpret: ReturnType<typeof openInterpreter>
  readonly tally: Tally
  readonly partitions: Partitions
  readonly parts: KnownPart[]
  /** Of the row that is being read. */
  readonly place: { part: string; line: number }
}

async function readFile(path: string, run: Preparation): Promise<SourceFile> {
  const { map, options, parts } = run
  const source = await openSource(path, options.signal)
  const { name, bytes, sha256 } = source
  try {
    for await (const part of source.parts(map.container.entries)) {
      parts.push({ name: part.name, sha256 })
      for await (const { columns, rows } of readRows(part, { map, unguard: options.unguard })) {
        options.signal.throwIfAborted()
        const interpret = run.interpret(columns)
        run.place.part = part.name
        for (const row of rows) {
          run.place.line = row.number
          const pending = takeAll(run, row, interpret(row)) // awaiting takes longer than the rest
          if (pending) await pending
        }
      }
    }
  } finally {
    await source.close()
  }
  return { name, bytes, sha256 }
}

/** Returns a promise only if the caller must wait. */
function takeAll(run: Preparation, row: ReadRow, answers: readonly Interpretation[]): Promise<unknown> | null {
  const pending = answers.map(answer => take(run, row, answer)).filter(each => each !== null)
  return pending.length === 0 ? null : Promise.all(pending)
}

/** Returns a promise only if the caller must wait. */
function take(run: Preparation, row: ReadRow, read: Interpretation): Promise<void> | null {
  const { tally, decisions, parts, options } = run
  tally.counts.read += 1
  const part = parts.length - 1
  const place = { sequence: tally.counts.read, part, line: row.number }
  if (read.kind === 'refused') {
    const { originId, reason, message } = read
    if (originId !== null) return run.partitions.add({ originId, at: 0, ...place, problem: { reason, message } })
    countRefused(tally, reason, 1)
    if (reason === 'invalid') tally.unreadable += 1
    const where = `${parts[part]?.name}:${row.number}`
    return Promise.resolve(options.onRefused({ where, rows: 1, origin_id: null, reason, message, others: [] }))
  }
  if (read.kind === 'left_out') countLeftOut(tally, read.by)
  if (read.kind !== 'answer') return null
  const { silence } = read.meaning
  if (silence) countLeftOut(tally, silence)
  // A row without an answer matters only for rows of the same answer.
  if (decisions.undecided() > 0 || (silence && run.map.rows === 'answer')) return null
  return run.partitions.add({ ...read.meaning, ...place })
}

/** While values are undecided, checks only persons with rejected rows. */
async function writeRows(
  path: string,
  { map, options, decisions, partitions, parts, tally }: Preparation,
): Promise<void> {
  const isDecided = decisions.undecided() === 0
  const persons = openPersons({ map, sha256Of: part => parts[part]?.sha256 ?? '' })
  const file = await open(path, 'wx', 0o600)
  try {
    let text = ''
    /** Returns a promise only if the caller must wait. */
    const take = (person: Person): Promise<void> | null => {
      countPerson(tally, person)
      if (person.row !== null) text += `${person.row}\n`
      return person.problem ? Promise.resolve(options.onRefused(refusedPerson(person, parts))) : null
    }
    for await (const events of partitions.sorted()) {
      options.signal.throwIfAborted()
      for (const event of events) {
        if (!isDecided && !isRefused(event)) continue
        const person = persons.add(event)
        const pending = person && take(person)
        if (pending) await pending
      }
      if (text.length < writeLength) continue
      await file.writeFile(text)
      text = ''
    }
    const last = persons.end()
    if (last) await take(last)
    await file.writeFile(text)
  } finally {
    await file.close()
  }
}

const writeLength = 65_536

function refusedPerson({ originId, first, others, events, problem }: Person, parts: readonly KnownPart[]): Refused {
  const { reason, message } = problem as NonNullable<Person['problem']>
  const placeOf = ({ part, line }: Person['first']) => `${parts[part]?.name}:${line}`
  return { where: placeOf(first), rows: events, origin_id: originId, reason, message, others: others.map(placeOf) }
}

type Tally = ReturnType<typeof newTally>

function newTally() {
  return {
    counts: { read: 0, records: 0, changes: 0, merged: 0, duplicates: 0, left_out: 0, refused: 0 },
    withoutSubject: 0,
    unreadable: 0,
    refused: {} as Partial<Record<Reason, number>>,
    leftOut: new Map<string, Prepared['leftOut'][number]>(),
    firstAt: Number.POSITIVE_INFINITY,
    lastAt: Number.NEGATIVE_INFINITY,
  }
}

function countRefused({ counts, refused }: Tally, reason: Reason, rows: number): void {
  counts.refused += rows
  refused[reason] = (refused[reason] ?? 0) + rows
}

function countLeftOut({ counts, leftOut }: Tally, { table, value }: LeftOut): void {
  counts.left_out += 1
  const key = JSON.stringify([table, value])
  leftOut.set(key, { table, value, count: (leftOut.get(key)?.count ?? 0) + 1 })
}

function countPerson(tally: Tally, { problem, row, ...person }: Person): void {
  if (problem) countRefused(tally, problem.reason, person.events)
  if (row === null) return
  const { counts } = tally
  counts.records += 1
  if (!person.hasSubject) tally.withoutSubject += 1
  counts.changes += person.answers - 1
  counts.merged += person.merged
  counts.duplicates += person.duplicates
  tally.firstAt = Math.min(tally.firstAt, person.firstAt)
  tally.lastAt = Math.max(tally.lastAt, person.lastAt)
}

function resultOf({ counts, withoutSubject, unreadable, refused, leftOut, firstAt, lastAt }: Tally) {
  const isoOf = (at: number) => new Date(at).toISOString()
  return {
    ...{ counts, withoutSubject, unreadable, refused },
    leftOut: [...leftOut.values()].sort((a, b) => b.count - a.count || (a.value < b.value ? -1 : 1)),
    given: counts.records === 0 ? null : { first: isoOf(firstAt), last: isoOf(lastAt) },
  }
}
