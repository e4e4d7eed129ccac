import { createHash } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import type { Counts, Reason } from '../../../../../../src/commands/consents/import/prepare/prepared.ts'

/** What a person answered, as it was before anybody wrote it into a file. */
export interface Answer {
  /** Epoch milliseconds. */
  readonly at: number
  readonly accepted: boolean
  /** The whole state after it. */
  readonly preferences: Readonly<Record<string, boolean>>
  readonly policyVersion: number
  /** The files that have it. */
  readonly files: readonly string[]
}

export interface Person {
  /** All but the answers, as the record has it. */
  readonly record: Readonly<Record<string, string>> & { readonly id: string }
  readonly answers: readonly Answer[]
}

export interface Fixture {
  readonly files: Readonly<Record<string, Buffer>>
  readonly policyVersion?: number
  readonly timezone?: string
  readonly persons: readonly Person[]
  /** Ids of persons with a row that cannot be told, besides their others. */
  readonly spoiled: readonly string[]
  /** Rows by what is to become of them. */
  readonly counts: Counts
  readonly refused: Partial<Record<Reason, number>>
}

export type Random = ReturnType<typeof seeded>

/** The mulberry32 generator. */
export function seeded(seed: number) {
  let state = seed
  const random = (): number => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32
  }
  const int = (limit: number): number => Math.floor(random() * limit)
  const pick = <T>(list: readonly T[]): T => list[int(list.length)] as T
  const hex = (length: number): string => Array.from({ length }, () => int(16).toString(16)).join('')
  return {
    int,
    pick,
    hex,
    chance: (odds: number): boolean => random() < odds,
    uuid: (): string => `${hex(8)}-${hex(4)}-4${hex(3)}-a${hex(3)}-${hex(12)}`,
    /** Increasing, minutes apart; never within a day of a change of clocks, nor in the future. */
    times: (count: number): number[] => {
      let at = Date.UTC(2024, pick([0, 1, 4, 5, 6, 7, 11]), 1 + int(20), 4 + int(16), int(60), int(60))
      return Array.from({ length: count }, () => {
        at += 60_000 + 1000 * int(600)
        return at
      })
    },
    shuffle: <T>(list: readonly T[]): T[] =>
      list
        .map(item => [random(), item] as const)
        .sort(([a], [b]) => a - b)
        .map(([, item]) => item),
  }
}

/** Texts that break programs: formulas, markup, quotes, line breaks, marks of direction, names of prototypes. */
export const hostile = [
  '=cmd|calc!A1',
  '+1"><script>alert(1)</script>',
  "'; drop table consents; --",
  'a "quoted", name',
  'line\nbreak',
  '\u202egnp.exe',
  '__proto__',
  'constructor',
  '😀 ünï',
  'x'.repeat(200),
] as const

type Fate = Exclude<keyof Counts, 'read' | 'refused'>

interface Row {
  readonly file: string
  text: string
  readonly fate: Fate | null
}

/** Makes the time of a row one that was not. */
function spoil(text: string): string {
  return text
    .replace(/\b20\d\d-\d\d-\d\d/g, '2024-06-31')
    .replace(/\b\d\d\/\d\d\/20\d\d\b/g, '31/06/2024')
    .replace(/\b\d\d\.\d\d\.20\d\d\b/g, '31.06.2024')
    .replace(/\b1[67]\d{8}\b/g, '9999999999')
    .replace(/\b1[67]\d{11}\b/g, '9999999999999')
}

/** Collects the rows of a fixture, and what is to become of each. */
export function openBook(random: Random) {
  const rows: Row[] = []
  const persons: Person[] = []
  const spoiled: string[] = []
  let told = 0
  const refused: Partial<Record<Reason, number>> = {}
  const counts = { read: 0, records: 0, changes: 0, merged: 0, duplicates: 0, left_out: 0, refused: 0 }
  const add = (file: string, text: string, fate: Fate): void => {
    rows.push({ file, text, fate })
    counts.read += 1
    counts[fate] += 1
  }
  return {
    add,
    rows: () => counts.read,
    /** A row with several answers, the first of which is that of the record. */
    both: (file: string, text: string, answers: number): void => {
      add(file, text, 'records')
      for (let further = 1; further < answers; further += 1) add(file, '', 'changes')
    },
    /** The rows of one answer; some of them are there twice. */
    answer: (file: string, texts: readonly string[], isFirst: boolean): void => {
      for (const [index, text] of texts.entries())
        add(file, text, index > 0 ? 'merged' : isFirst ? 'records' : 'changes')
      for (const text of texts) if (random.chance(0.03)) add(file, text, 'duplicates')
    },
    refuse: (file: string, texts: readonly string[], reason: Reason): void => {
      for (const text of texts) rows.push({ file, text, fate: null })
      counts.read += texts.length
      counts.refused += texts.length
      refused[reason] = (refused[reason] ?? 0) + texts.length
    },
    /** A person of the rows since the one before. One of ten has a row that cannot be told, and is refused. */
    person: (person: Person): void => {
      const own = rows.slice(told).filter(({ fate }) => fate !== null && fate !== 'left_out')
      told = rows.length
      if (!random.chance(0.1)) return void persons.push(person)
      const row = random.pick(own.filter(({ text }) => text !== ''))
      row.text = spoil(row.text)
      spoiled.push(person.record.id)
      counts.refused += own.length
      refused.time = (refused.time ?? 0) + own.length
      for (const { fate } of own) counts[fate as Fate] -= 1
    },
    /** Rows of a file in any order, since no source promises one. */
    textOf: (file: string): string[] =>
      random.shuffle(rows.filter(row => row.file === file && row.text !== '')).map(({ text }) => text),
    close: (files: Fixture['files'], options: Pick<Fixture, 'policyVersion' | 'timezone'> = {}): Fixture => ({
      files,
      ...options,
      persons,
      spoiled,
      counts,
      refused,
    }),
  }
}

export function csvRow(cells: readonly string[]): string {
  return cells.map(cell => (/[",\r\n]|^\s|\s$/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell)).join(',')
}

/** With a byte order mark and CRLF, as spreadsheets write it, or with neither. */
export function csvFile(header: readonly string[] | null, rows: readonly string[], isSpreadsheet: boolean): Buffer {
  const lines = header ? [csvRow(header), ...rows] : rows
  const end = isSpreadsheet ? '\r\n' : '\n'
  return Buffer.from(`${isSpreadsheet ? '\ufeff' : ''}${lines.join(end)}${end}`)
}

export function gzip(bytes: Buffer | string): Buffer {
  return gzipSync(bytes, { level: 1 })
}

/** `2026-01-31 09:30:00` of a zone. */
export function localTime(at: number, zone: string): string {
  return new Date(at).toLocaleString('sv-SE', { timeZone: zone })
}

export function sha256(bytes: Buffer | string): string {
  return createHash('sha256').update(bytes).digest('hex')
}
