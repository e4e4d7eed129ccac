import type * as z from 'zod'
import { circumstanceNames } from '../../../../contract/circumstance-words.ts'
import { Circumstances } from '../../../../contract/circumstances.ts'
import { ConsentDraft } from '../../../../contract/consents.ts'
import { storable, text } from '../../../../contract/values.ts'
import { usageError } from '../../../../errors/errors.ts'
import { sha256 } from '../../../../evidence/bytes.ts'
import { canonical } from '../../../../evidence/canonical.ts'
import type { Decisions } from './decisions.ts'
import type { ImportMap, Source } from './map.ts'
import type { Details, LeftOut, Meaning } from './partitions.ts'
import type { Reason } from './prepared.ts'
import { openPurposes, type PurposeReader, type PurposeValue } from './purposes.ts'
import { type Columns, decidable, type Getter, type ReadRow, type Row, RowProblem, textOf } from './rows.ts'
import { describeCause, timeReader } from './time.ts'

export type Interpretation =
  | { readonly kind: 'answer'; readonly meaning: Meaning }
  | { readonly kind: 'left_out'; readonly by: LeftOut }
  | { readonly kind: 'undecided' }
  | { readonly kind: 'refused'; readonly originId: string | null; readonly reason: Reason; readonly message: string }

interface Options {
  readonly policyVersion: number | undefined
  readonly timezone: string | undefined
  readonly now: Date
}

const earliest = Date.UTC(1990, 0, 1)

const shape = ConsentDraft.shape
const fieldTypes: Readonly<Record<keyof Details | 'origin_id', z.ZodType>> = {
  origin_id: text(1, 255),
  consent_id: shape.consent_id,
  subject_id: shape.subject_id,
  ip_address: shape.ip_address,
  user_agent: shape.user_agent,
  notice_locale: shape.notice_locale,
  evidence: text(1, 1024),
}
const detailNames = ['consent_id', 'subject_id', 'ip_address', 'user_agent', 'notice_locale', 'evidence'] as const

type Labelled = keyof ImportMap['fields'] | 'event' | 'accepted'

type TextGetter = (row: Row) => string

interface Getters {
  readonly event: TextGetter | null
  readonly accepted: TextGetter | null
  readonly originId: TextGetter
  readonly givenAt: TextGetter
  readonly version: TextGetter | null
  readonly details: readonly (readonly [name: keyof Details, get: TextGetter])[]
  readonly circumstances: readonly (readonly [name: (typeof circumstanceNames)[number], get: TextGetter])[]
  readonly purposes: readonly PurposeReader[]
}

/**
 * The returned function throws a UsageError if a part lacks a column.
 *
 * @throws UsageError if the options do not complete the map
 */
export function openInterpreter(map: ImportMap, options: Options, decisions: Decisions) {
  const { fields, time } = map
  if (options.policyVersion === undefined && fields.policy_version === undefined)
    throw usageError('the file does not contain the policy version of the answers', 'use --policy-version N')
  if (options.policyVersion !== undefined && fields.policy_version !== undefined)
    throw usageError(
      'the files contain the policy version: --policy-version would override it',
      'leave it out, or have the map say so: {"fields": {"policy_version": {"constant": N}}}',
    )
  if (!('path' in map.accepted) && map.purposes.length === 0)
    throw usageError('the map has neither purposes nor a value for accepted')
  const readTime = timeReader({
    formats: time.formats,
    zone: options.timezone ?? time.zone,
    repeatedHour: time.repeated_hour ?? 'refuse',
  })
  const now = options.now.getTime()
  const labels = labelsOf(map)

  const compile = (columns: Columns): Getters => ({
    event: map.event ? textGetter(columns, map.event.path) : null,
    accepted: 'path' in map.accepted ? textGetter(columns, map.accepted.path) : null,
    originId: textGetter(columns, fields.origin_id),
    givenAt: textGetter(columns, fields.given_at),
    version: fields.policy_version === undefined ? null : textGetter(columns, fields.policy_version),
    details: detailNames.flatMap(name => {
      const source = fields[name]
      return source === undefined ? [] : [[name, textGetter(columns, source)] as const]
    }),
    circumstances: circumstanceNames.flatMap(name => {
      const source = fields[`circumstances.${name}`]
      return source === undefined ? [] : [[name, textGetter(columns, source)] as const]
    }),
    purposes: openPurposes(map.purposes, columns),
  })

  const checked = (name: keyof typeof fieldTypes, value: string): string => {
    if (value === '') throw new RowProblem('field', `${labels(name)} is not there`)
    const issue = fieldTypes[name].safeParse(value).error?.issues[0]
    if (issue) throw new RowProblem('field', `${labels(name)} ${issue.message}`)
    return value
  }

  const decideText = (table: 'event' | 'accepted', get: TextGetter | null, row: Row) => {
    if (get === null) return null
    const value = decidable(get(row), labels(table))
    return { table, value, decision: decisions.decide(table, value) }
  }

  const readVersion = (value: string): number | undefined => {
    const label = labels('policy_version')
    if (value === '') throw new RowProblem('field', `${label} is not there`)
    return decisions.decide('policy_versions', decidable(value, label)) as number | undefined
  }

  const readDetails = ({ details }: Getters, row: Row): Details => {
    const read: Record<string, string> = {}
    for (const [name, get] of details) {
      const value = get(row)
      if (value !== '') read[name] = checked(name, value)
    }
    return read
  }

  /** A confirmation's time may be written like that of the answer. */
  const readCircumstances = (getters: Getters, row: Row): Circumstances | undefined => {
    const told = getters.circumstances.flatMap(([name, get]) => {
      const value = get(row)
      const at = name === 'confirmed_at' && value !== '' ? readTime(value) : null
      return value === '' ? [] : [[name, typeof at === 'number' ? new Date(at).toISOString() : value] as const]
    })
    if (told.length === 0) return undefined
    const { data, error } = Circumstances.safeParse(Object.fromEntries(told))
    if (data) return data
    const issue = error.issues[0]
    const name = circumstanceNames.find(each => each === issue?.path[0])
    throw new RowProblem('field', `${name ? labels(`circumstances.${name}`) : 'circumstances'} ${issue?.message}`)
  }

  /** Null if the row names no person. */
  const findOrigin = (getters: Getters, row: Row): string | null => {
    try {
      return checked('origin_id', getters.originId(row))
    } catch (error) {
      if (error instanceof RowProblem) return null
      throw error
    }
  }

  const readAt = (given: string): number => {
    const label = labels('given_at')
    if (given === '') throw new RowProblem('time', `${label} is not there`)
    const at = readTime(given)
    if (typeof at !== 'number') throw new RowProblem('time', `${label}: ${at.problem}`)
    if (at < earliest) throw new RowProblem('time', `${label} is before 1990: ${given}${describeCause(given)}`)
    if (at > now) throw new RowProblem('time', `${label} is in the future: ${given}`)
    return at
  }

  const readPurpose = ({ name, value, answer }: PurposeValue) => {
    const kept = decisions.decide('names', name)
    if (kept === false) return { isUndecided: false, leftOut: { table: 'names', value: name } as const }
    const decision = answer ?? decisions.decide('values', value)
    const isUndecided = kept === undefined || decision === undefined
    const given = answerOf(decision)
    return { isUndecided, given, leftOut: given === null ? ({ table: 'values', value } as const) : null }
  }

  const readPurposes = (readers: readonly PurposeReader[], row: Row) => {
    const purposes = new Map<string, boolean | null>()
    let isUndecided = false
    let leftOut: LeftOut | null = null
    const add = (each: PurposeValue) => {
      const { name } = each
      const read = readPurpose(each)
      isUndecided ||= read.isUndecided
      if (leftOut?.table !== 'values') leftOut = read.leftOut ?? leftOut
      if (read.given === undefined) return
      if (purposes.has(name) && purposes.get(name) !== read.given)
        throw new RowProblem('contradiction', `it has "${name}" twice, with different answers`)
      purposes.set(name, read.given)
    }
    for (const read of readers) for (const each of read(row)) add(each)
    return { purposes: [...purposes], isUndecided, leftOut }
  }

  const readAnswer = (getters: Getters, row: Row, accepted: boolean | null, originId: string): Interpretation => {
    const at = readAt(getters.givenAt(row))
    const { purposes, isUndecided, leftOut } = readPurposes(getters.purposes, row)
    const isSilent = accepted === null && !purposes.some(([, answer]) => answer !== null)
    const silence = isSilent ? (leftOut ?? { table: 'values' as const, value: '' }) : null
    const version = getters.version ? readVersion(getters.version(row)) : options.policyVersion
    if (isUndecided || version === undefined) return { kind: 'undecided' }
    const details = readDetails(getters, row)
    const circumstances = readCircumstances(getters, row)
    return { kind: 'answer', meaning: { originId, at, version, accepted, purposes, details, circumstances, silence } }
  }

  const interpret = (getters: Getters, row: Row): Interpretation => {
    try {
      const event = decideText('event', getters.event, row)
      if (event?.decision === 'left_out') return { kind: 'left_out', by: event }
      const accepted = decideText('accepted', getters.accepted, row)
      if (accepted?.decision === 'left_out') return { kind: 'left_out', by: accepted }
      const originId = checked('origin_id', getters.originId(row))
      const answer = readAnswer(getters, row, answerOf(accepted?.decision ?? 'derived'), originId)
      const isUndecided = [event, accepted].some(each => each !== null && each.decision === undefined)
      return isUndecided ? { kind: 'undecided' } : answer
    } catch (error) {
      if (!(error instanceof RowProblem)) throw error
      return { kind: 'refused', originId: findOrigin(getters, row), reason: error.reason, message: error.message }
    }
  }

  let present: Columns | null = null
  let getters: Getters | null = null
  return (columns: Columns): ((row: ReadRow) => Interpretation) => {
    const own = getters && columns === present ? getters : compile(columns)
    getters = own
    present = columns
    return ({ row, problem }) => {
      if (row && problem === null) return interpret(own, row)
      return { kind: 'refused', originId: row && findOrigin(own, row), reason: 'invalid', message: problem ?? '' }
    }
  }
}

function answerOf(decision: string | number | false | undefined): boolean | null {
  return decision === 'yes' ? true : decision === 'no' ? false : null
}

function labelsOf({ fields, event, accepted }: ImportMap): (name: Labelled) => string {
  const sources = { ...fields, event: event?.path, accepted: 'path' in accepted ? accepted.path : undefined }
  const labels = Object.entries(sources).map(([name, source]) => {
    const paths = source === undefined ? [] : typeof source === 'string' ? [source] : Object.values(source)[0]
    const place = [paths].flat().join('", "')
    return [name, place === '' || place === name ? name : `${name} ("${place}")`] as const
  })
  const byName = new Map(labels)
  return name => byName.get(name) ?? name
}

/** '' for a missing value. */
function textGetter(columns: Columns, source: Source): TextGetter {
  if (typeof source === 'string') return named(columns.getter(source), source)
  if ('path' in source) return named(columns.getter(source.path, source.optional), source.path)
  if ('constant' in source) return () => String(source.constant)
  if ('sha256' in source) return hashGetter(columns.getter(source.sha256))
  if ('join' in source) {
    const parts = source.join.map(path => named(columns.getter(path), path))
    return row => {
      const texts = parts.map(get => get(row))
      return texts.includes('') ? '' : texts.join(source.separator)
    }
  }
  const choices = source.first.map(path => named(columns.getter(path, true), path))
  return row => choices.reduce((found, get) => (found === '' ? get(row) : found), '')
}

function named(get: Getter, path: string): TextGetter {
  return row => textOf(get(row), path)
}

function hashGetter(get: Getter): TextGetter {
  return row => {
    const value = get(row)
    if (value === undefined || value === null || value === '') return ''
    if (typeof value === 'string' && !storable(value)) throw new RowProblem('field', 'evidence is not Unicode text')
    const content = typeof value === 'object' ? canonical(value) : String(value)
    return `sha256:${sha256(content).toString('hex')}`
  }
}
