import { createHash } from 'node:crypto'
import { subjectCommand } from '../../cli/messages.ts'
import { readPerson, Subject } from '../../cli/subjects.ts'
import { receivedDay } from '../../cli/time.ts'
import type { Context } from '../../context.ts'
import { text } from '../../contract/values.ts'
import { erasureJobs, type SubjectRequest } from '../../erasure/job.ts'
import { CliError, dataError, usageError } from '../../errors/errors.ts'
import { type Table, tableOpener } from '../../io/csv.ts'
import { toUtf8 } from '../../io/encoding.ts'
import { hashed, type Line, nameOf, readChunks, splitLines } from '../../io/input.ts'
import { commandForOrigin } from '../../settings/settings.ts'
import { toSubjectRequest } from './start.ts'

const Ticket = text(1, 100)
const Reason = text(1, 500)

const columnNames = 'ticket, received, reason, identifier, identifier_2 and so on'

/** Null for an unknown column: it could name other people. */
function fieldOf(name: string): 'ticket' | 'received' | 'reason' | 'identifier' | null {
  const plain = name
    .replace(/^\ufeff/, '')
    .trim()
    .toLowerCase()
  if (plain === 'ticket' || plain === 'received' || plain === 'reason') return plain
  return /^(identifier|subject_id)([ _]?\d+)?$/.test(plain) ? 'identifier' : null
}

interface Row {
  readonly number: number
  readonly ticket: string
  readonly received: string
  readonly reason: string
  readonly identifiers: readonly string[]
}

interface Given {
  /** For lines without one. */
  readonly reason: string | null
  readonly by: 'erasure' | 'withdrawal'
}

export interface PeopleFile {
  readonly people: readonly SubjectRequest[]
  readonly sha256: string
}

/**
 * Reads a CSV with one person per line; a line without identifiers names a request in the register.
 * @throws CliError `invalid_data` (exit 5), before any change, also for a repeated ticket or identifier; `usage` (exit 2)
 * if a job of the same file is not finished
 */
export async function readPeople(ctx: Context, file: string, given: Given): Promise<PeopleFile> {
  const rows: Row[] = []
  const hash = createHash('sha256')
  const name = nameOf(file)
  const openTable = tableOpener({ isKnown: name => fieldOf(name) !== null, isShortAllowed: true })
  let table: Table | null = null
  for await (const line of splitLines(toUtf8(hashed(readChunks(ctx.io, file), hash), name), name, { quoted: true })) {
    if (table) rows.push(toRow(table, line))
    else table = await openTable([line]).then(opened => opened && requireFields(opened, line), rejectLine(line.number))
  }
  if (rows.length === 0) throw dataError(`${name} has no data rows`)
  requireDistinct(rows)
  const sha256 = hash.digest('hex')
  await requireNoJob(ctx, name, sha256)
  const people: SubjectRequest[] = []
  for (const row of rows) people.push(await toRequest(ctx, row, given).catch(rejectLine(row.number)))
  requireDistinctPeople(people)
  return { people, sha256 }
}

/** A second job of the same file would make a second receipt for each person. @throws CliError (usage) */
async function requireNoJob(ctx: Context, name: string, sha256: string): Promise<void> {
  const jobs = erasureJobs(ctx)
  for (const job of await jobs.list()) {
    const header = await jobs.peekHeader(job).catch(() => null) // damaged, or just finished
    if (header?.sha256 === sha256 && commandForOrigin(ctx.settings, header, '') === null)
      throw usageError(
        `the ${header.withdrawal ? 'withdrawal' : 'erasure'} of ${name} of ${header.started_at} is not finished: nothing was done`,
        `continue it: ${subjectCommand(ctx, 'resume', job)}`,
      )
  }
}

function requireFields(table: Table, line: Line): Table {
  const unknown = table.header.find(name => fieldOf(name) === null)
  if (unknown !== undefined) throw dataError(`line ${line.number}: unknown column "${unknown}"`, `use ${columnNames}`)
  const fields = table.header.map(fieldOf)
  for (const field of ['ticket', 'received', 'reason'] as const)
    if (fields.filter(each => each === field).length > 1)
      throw dataError(`line ${line.number}: the column ${field} is repeated`)
  if (!fields.includes('ticket'))
    throw dataError(`line ${line.number}: there is no column ticket`, `use ${columnNames}`)
  return table
}

function toRow({ header, cells }: Table, line: Line): Row {
  const values = cells(line)
  const { number } = line
  const all = (field: string) => header.flatMap((name, index) => (fieldOf(name) === field ? (values[index] ?? '') : []))
  const [[ticket = ''], [received = ''], [reason = '']] = [all('ticket'), all('received'), all('reason')]
  const identifiers = all('identifier').filter(cell => cell !== '')
  const row = { number, ticket, received, reason, identifiers }
  requireValid(row)
  return row
}

function requireValid({ number, ticket, received, reason, identifiers }: Row): void {
  const issueOf = (name: string, schema: typeof Ticket, value: string) => {
    const issue = schema.safeParse(value).error?.issues[0]
    if (issue) throw dataError(`line ${number}: ${name} ${issue.message}`)
  }
  issueOf('ticket', Ticket, ticket)
  if (reason !== '') issueOf('reason', Reason, reason)
  for (const identifier of identifiers) issueOf('identifier', Subject, identifier)
  if (identifiers.length === 0 && received !== '')
    throw dataError(`line ${number}: without an identifier, the date received comes from the register request`)
}

function requireDistinct(rows: readonly Row[]): void {
  const seen = new Map<string, number>()
  for (const { number, ticket, identifiers } of rows)
    for (const value of [`ticket ${ticket}`, ...new Set(identifiers.map(each => `identifier ${each}`))]) {
      const earlier = seen.get(value)
      if (earlier !== undefined) throw dataError(`line ${number} repeats the ${value} of line ${earlier}`)
      seen.set(value, number)
    }
}

/** Includes identifiers from the register. */
function requireDistinctPeople(people: readonly SubjectRequest[]): void {
  const owners = new Map<string, string>()
  for (const { ticket, subjects } of people)
    for (const subject of subjects) {
      const other = owners.get(subject)
      if (other !== undefined) throw dataError(`the requests ${other} and ${ticket} have the same identifier`)
      owners.set(subject, ticket)
    }
}

async function toRequest(ctx: Context, row: Row, given: Given): Promise<SubjectRequest> {
  const { ticket, received, identifiers } = row
  const reason = row.reason === '' ? given.reason : row.reason
  if (identifiers.length > 0) {
    const received_at = received === '' ? null : receivedDay(received)
    return { subjects: [...new Set(identifiers)], ticket, reason, received_at }
  }
  const { subjects, request } = await readPerson(ctx, [], { request: ticket })
  if (request) return toSubjectRequest(request, subjects, { reason, by: given.by })
  throw dataError('no identifier and no register request')
}

/** A mistake in the file is invalid data, not a wrong command. */
function rejectLine(number: number): (error: unknown) => never {
  return error => {
    if (!(error instanceof CliError)) throw error
    const { code, message, hint } = error
    if (code === 'usage') throw dataError(`line ${number}: ${message}`, hint)
    throw new CliError(code, error.exit, `line ${number}: ${message}`, { hint, cause: error })
  }
}
