import { formatCount } from '../../../../cli/messages.ts'
import type { Context } from '../../../../context.ts'
import { dataError } from '../../../../errors/errors.ts'
import { reportsByKind } from '../../../../errors/report.ts'
import { openOutFile } from '../../../../io/new-file.ts'
import { safeJson } from '../../../../output/index.ts'

export interface SourceFile {
  readonly name: string
  readonly bytes: number
  /** Hexadecimal SHA-256 of the file as stored, compressed or not. */
  readonly sha256: string
}

export interface DecidedValue {
  readonly table: 'event' | 'accepted' | 'names' | 'values' | 'policy_versions'
  /** Empty if not given. */
  readonly value: string
  readonly count: number
  /** Column or path of the first one, such as `Status`. */
  readonly column: string
  /** Row of the first one, such as `export.csv:3`. */
  readonly first: string
  /** `yes`, `no`, `answer`, `left_out`, `dropped`, a preference or a policy version; null if undecided. */
  readonly becomes: string | number | null
}

export interface Refused {
  /** The row, or the person's first row: `export.csv:12`, or `export.zip/consents.csv:12`. */
  readonly where: string
  /** A row that names no person, or all rows of a person; as in `Counts`, each of several answers of a row counts. */
  readonly rows: number
  /** Null if unreadable. */
  readonly origin_id: string | null
  readonly reason: Reason
  /** May quote values of the row. */
  readonly message: string
  /** At most 1,000 further rows of the person, by time. */
  readonly others: readonly string[]
}

/**
 * One refused row refuses the person with all rows.
 *
 * `invalid`: unreadable row; `field`: missing or invalid field; `time`: missing or ambiguous time; `contradiction`:
 * different answers at one time, or different subjects; `too_large`: does not fit a record.
 */
export type Reason = 'invalid' | 'field' | 'time' | 'contradiction' | 'too_large'

/** Of rows; of one with several answers, each answer counts. read = records + changes + merged + duplicates + left_out + refused. */
export interface Counts {
  readonly read: number
  readonly records: number
  readonly changes: number
  readonly merged: number
  /** Identical rows of one person and time. */
  readonly duplicates: number
  readonly left_out: number
  readonly refused: number
}

export interface Prepared {
  /** NDJSON of `ImportRow`s without site. Null if values are undecided, a row is unreadable, or none can be sent. */
  readonly path: string | null
  readonly files: readonly SourceFile[]
  readonly mapSha256: string
  readonly values: readonly DecidedValue[]
  readonly undecided: number
  /** Possibly answers of any person, so nothing may be sent. */
  readonly unreadable: number
  readonly counts: Counts
  /** Records that no search for a subject finds. */
  readonly withoutSubject: number
  readonly refused: Readonly<Partial<Record<Reason, number>>>
  readonly leftOut: readonly { readonly table: DecidedValue['table']; readonly value: string; readonly count: number }[]
  /** RFC 3339, ms; null without answers. */
  readonly given: { readonly first: string; readonly last: string } | null
}

export function describePrepared(
  { counts, withoutSubject, files, given, undecided }: Prepared,
  refusedOut: string | undefined,
): string[] {
  const { read, records, changes, merged, duplicates, left_out, refused } = counts
  const rows = `${formatCount(read, 'row')} of ${formatCount(files.length, 'file')}`
  const parts = [
    undecided > 0
      ? `${rows}, whose persons are not judged until every value is decided`
      : `${formatCount(records)} with ${formatCount(changes, 'later answer')} from ${rows}`,
    ...(withoutSubject > 0
      ? [`${formatCount(withoutSubject)} without a subject, which no search for a person finds`]
      : []),
    ...(undecided === 0 && merged > 0 ? [`${formatCount(merged, 'row')} part of another row's answer`] : []),
    ...(undecided === 0 && duplicates > 0 ? [`${formatCount(duplicates, 'row')} repeated`] : []),
    ...(left_out > 0 ? [`${formatCount(left_out, 'row')} left out`] : []),
    ...(refused > 0 ? [describeRefusedRows(refused, refusedOut)] : []),
  ]
  return given ? [...parts, `answered from ${given.first} to ${given.last}`] : parts
}

/** Prints examples, and lists all rejected rows in the file of `--refused-out`. @throws CliError if it cannot be created */
export async function openRefusedRows(ctx: Context, path: string | undefined) {
  const reports = reportsByKind(ctx)
  const list = path === undefined ? null : await openList(path)
  return {
    add: async (refused: Refused): Promise<void> => {
      await list?.add(refused)
      const { message, rows, where } = refused
      const whole = rows > 1 ? `; all ${rows} rows of its person are refused` : ''
      await reports.add(dataError(message + whole), where)
    },
    /** Without rejected rows there is no file. */
    finish: async (): Promise<void> => {
      await reports.finish()
      await list?.commit()
    },
    close: async (): Promise<void> => list?.close(),
  }
}

const writeLength = 65_536

async function openList(path: string) {
  const file = await openOutFile(path, '--refused-out')
  let text = ''
  const flush = async () => {
    const lines = text
    text = ''
    await file.write(lines)
  }
  return {
    add: async (refused: Refused): Promise<void> => {
      text += `${safeJson(refused)}\n`
      if (text.length >= writeLength) await flush()
    },
    commit: async (): Promise<void> => {
      await flush()
      if (!file.isEmpty) await file.commit()
    },
    close: () => file.abandon(false),
  }
}

export function describeRefusedRows(rows: number, path: string | undefined): string {
  return `${formatCount(rows, 'row')} refused (${path === undefined ? '--refused-out FILE lists all' : `listed in ${path}`})`
}
