import type * as z from 'zod'
import { circumstanceNames } from '../../../../contract/circumstance-words.ts'
import { Circumstances } from '../../../../contract/circumstances.ts'
import { ConsentDraft } from '../../../../contract/consents.ts'
import { text } from '../../../../contract/values.ts'
import { usageError } from '../../../../errors/errors.ts'
import type { Decisions } from './decisions.ts'
import { type AnswerFields, answersOf, type ImportMap, isConstant, preferenceOf } from './map.ts'
import type { Details, LeftOut, Meaning } from './partitions.ts'
import type { Reason } from './prepared.ts'
import { fieldPreference, openPreferences, openPurposes, type PurposeReader, type PurposeValue } from './purposes.ts'
import { type Columns, decidable, type ReadRow, type Row, RowProblem } from './rows.ts'
import { hasColumn, type TextGetter, textGetter } from './sources.ts'
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

/** Of one of the answers that a row may have. */
interface Getters {
  readonly labels: (field: string) => string
  readonly event: TextGetter | null
  readonly accepted: TextGetter | 'yes' | 'no' | null
  /** A yes that only its time states. */
  readonly isAssumed: boolean
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
  const { time } = map
  const answers = answersOf(map)
  const isVersioned = answers.some(fields => fields['policy_version'] !== undefined)
  if (options.policyVersion === undefined && !isVersioned)
    throw usageError('the file does not contain the policy version of the answers', 'use --policy-version N')
  if (options.policyVersion !== undefined && isVersioned)
    throw usageError(
      'the files contain the policy version: --policy-version would override it',
      'leave it out, or have the map say so: {"fields": {"policy_version": {"constant": N}}}',
    )
  const readTime = timeReader({
    formats: time.formats,
    zone: options.timezone ?? time.zone,
    repeatedHour: time.repeated_hour ?? 'refuse',
  })
  const now = options.now.getTime()
  const compile = (columns: Columns, fields: AnswerFields): Getters => {
    const getterOf = (name: string) => (fields[name] === undefined ? null : textGetter(columns, fields[name]))
    const named = <Name extends string>(names: readonly Name[], prefix = '') =>
      names.flatMap(name => {
        const get = getterOf(prefix + name)
        return get ? [[name, get] as const] : []
      })
    return {
      labels: labelsOf(fields),
      event: getterOf('event'),
      accepted: isConstant(fields['accepted']) ? (fields['accepted'].constant as 'yes' | 'no') : getterOf('accepted'),
      isAssumed: map.answers !== undefined && areAllYes(fields),
      originId: getterOf('origin_id') as TextGetter,
      givenAt: getterOf('given_at') as TextGetter,
      version: getterOf('policy_version'),
      details: named(detailNames),
      circumstances: named(circumstanceNames, 'circumstances.'),
      purposes: [...openPreferences(fields, columns), ...openPurposes(map.purposes, columns)],
    }
  }

  const checked = ({ labels }: Getters, name: keyof typeof fieldTypes, value: string): string => {
    if (value === '') throw new RowProblem('field', `${labels(name)} is not there`)
    const issue = fieldTypes[name].safeParse(value).error?.issues[0]
    if (issue) throw new RowProblem('field', `${labels(name)} ${issue.message}`)
    return value
  }

  const decideText = ({ labels, ...getters }: Getters, table: 'event' | 'accepted', row: Row) => {
    const get = getters[table]
    if (get === null) return null
    if (typeof get === 'string') return { table, value: get, decision: get }
    const value = decidable(get(row), labels(table))
    return { table, value, decision: decisions.decide(table, value, labels(table)) }
  }

  const readVersion = ({ labels }: Getters, value: string): number | undefined => {
    const label = labels('policy_version')
    if (value === '') throw new RowProblem('field', `${label} is not there`)
    return decisions.decide('policy_versions', decidable(value, label), label) as number | undefined
  }

  const readDetails = (getters: Getters, row: Row): Details => {
    const read: Record<string, string> = {}
    for (const [name, get] of getters.details) {
      const value = get(row)
      if (value !== '') read[name] = checked(getters, name, value)
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
    const label = name ? getters.labels(`circumstances.${name}`) : 'circumstances'
    throw new RowProblem('field', `${label} ${issue?.message}`)
  }

  /** Null if the row names no person. */
  const findOrigin = (getters: Getters, row: Row): string | null => {
    try {
      return checked(getters, 'origin_id', getters.originId(row))
    } catch (error) {
      if (error instanceof RowProblem) return null
      throw error
    }
  }

  const readAt = ({ labels }: Getters, given: string): number => {
    const label = labels('given_at')
    if (given === '') throw new RowProblem('time', `${label} is not there`)
    const at = readTime(given)
    if (typeof at !== 'number') throw new RowProblem('time', `${label}: ${at.problem}`)
    if (at < earliest) throw new RowProblem('time', `${label} is before 1990: ${given}${describeCause(given)}`)
    if (at > now) throw new RowProblem('time', `${label} is in the future: ${given}`)
    return at
  }

  const readPurpose = ({ name, value, column, answer }: PurposeValue) => {
    const kept = fieldPreference(name) ?? decisions.decide('names', name, column)
    if (kept === false) return { isUndecided: false, leftOut: { table: 'names', value: name } as const }
    const decision = answer ?? decisions.decide('values', value, column)
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
    const givenAt = getters.givenAt(row)
    const { purposes, isUndecided, leftOut } = readPurposes(getters.purposes, row)
    const isSilent = accepted === null && !isUndecided && !purposes.some(([, answer]) => answer !== null)
    if (givenAt === '' && map.answers && (getters.isAssumed || isSilent)) return absent
    const at = readAt(getters, givenAt)
    const silence = isSilent ? (leftOut ?? { table: 'values' as const, value: '' }) : null
    const version = getters.version ? readVersion(getters, getters.version(row)) : options.policyVersion
    if (isUndecided || version === undefined) return { kind: 'undecided' }
    const details = readDetails(getters, row)
    const circumstances = readCircumstances(getters, row)
    return { kind: 'answer', meaning: { originId, at, version, accepted, purposes, details, circumstances, silence } }
  }

  const interpret = (getters: Getters, row: Row): Interpretation => {
    try {
      const event = decideText(getters, 'event', row)
      if (event?.decision === 'left_out') return { kind: 'left_out', by: event }
      const accepted = decideText(getters, 'accepted', row)
      if (accepted?.decision === 'left_out') return { kind: 'left_out', by: accepted }
      const originId = checked(getters, 'origin_id', getters.originId(row))
      const answer = readAnswer(getters, row, answerOf(accepted?.decision ?? 'derived'), originId)
      const isUndecided = [event, accepted].some(each => each !== null && each.decision === undefined)
      return isUndecided ? { kind: 'undecided' } : answer
    } catch (error) {
      if (!(error instanceof RowProblem)) throw error
      return { kind: 'refused', originId: findOrigin(getters, row), reason: error.reason, message: error.message }
    }
  }

  /** Of several answers, those that are there. Without any, the row is left out once; without a person, refused once. */
  const interpretAll = (all: readonly Getters[], row: Row): readonly Interpretation[] => {
    const read = all.map(getters => interpret(getters, row))
    const nobody = read.find(isNobody)
    const there = read.filter(each => each.kind !== 'left_out' && (each === nobody || !isNobody(each)))
    return there.length > 0 ? there : read.slice(0, 1)
  }

  const compileAll = (columns: Columns): Getters[] => {
    const present = answers.filter(fields => !map.answers || hasColumn(columns, fields['given_at']))
    if (present.length > 0) return present.map(fields => compile(columns, fields))
    throw usageError(
      'the file has no column that "answers" of the map names as given_at',
      'correct given_at in "answers"',
    )
  }

  let present: Columns | null = null
  let getters: readonly Getters[] = []
  return (columns: Columns): ((row: ReadRow) => readonly Interpretation[]) => {
    const own = columns === present ? getters : compileAll(columns)
    getters = own
    present = columns
    const [first] = own as [Getters]
    return ({ row, problem }) => {
      if (row && problem === null) return map.answers ? interpretAll(own, row) : [interpret(first, row)]
      return [{ kind: 'refused', originId: row && findOrigin(first, row), reason: 'invalid', message: problem ?? '' }]
    }
  }
}

/** One of several answers that the row does not have. */
const absent: Interpretation = { kind: 'left_out', by: { table: 'values', value: '' } }

function isNobody(read: Interpretation): boolean {
  return read.kind === 'refused' && read.originId === null
}

function areAllYes(fields: AnswerFields): boolean {
  const answers = Object.entries(fields).filter(([name]) => name === 'accepted' || preferenceOf(name) !== undefined)
  return answers.length > 0 && answers.every(([, source]) => isConstant(source) && source.constant === 'yes')
}

function answerOf(decision: string | number | false | undefined): boolean | null {
  return decision === 'yes' ? true : decision === 'no' ? false : null
}

function labelsOf(fields: AnswerFields): (name: string) => string {
  const labels = Object.entries(fields).map(([name, source]) => {
    const paths = typeof source === 'string' ? source : Object.values(source)[0]
    const place = [paths].flat().join('", "')
    return [name, place === '' || place === name ? name : `${name} ("${place}")`] as const
  })
  const byName = new Map(labels)
  return name => byName.get(name) ?? name
}
