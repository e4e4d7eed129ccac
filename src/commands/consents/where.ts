import { promptToConfirm, requireConfirmedCount } from '../../cli/confirm.ts'
import { instanceLabel } from '../../cli/messages.ts'
import { unseen } from '../../client/pages.ts'
import type { Context } from '../../context.ts'
import type { FilterFlag } from '../../contract/filters.ts'
import type { Consent } from '../../contract/index.ts'
import { usageError } from '../../errors/errors.ts'
import { safeJson, type View, visible } from '../../output/index.ts'
import { findPart } from '../../output/parts.ts'
import { type ConsentRow, consentView } from '../../views/consent.ts'
import { type CommonChange, changeOf } from './bulk/changes.ts'
import { type FlagValues, filterFlags, findConflict, queryOf } from './filters.ts'

const names = filterFlags.map(({ flag }) => flag)

/** Only before a filter's name: values may contain commas. */
const separator = new RegExp(`,(?=(?:${names.join('|')})(?:[=,]|$))`)

/** Parses `site=Shop,from=2026-01-01`. @throws CliError (usage) */
export function parseWhere(texts: readonly string[]): FlagValues {
  const found = new Map<FilterFlag, string>()
  for (const part of texts.flatMap(text => text.split(separator))) {
    const [name, value] = parseFilter(part)
    if (found.has(name)) throw usageError(`--where: ${name} is repeated`)
    found.set(name, value)
  }
  const conflict = findConflict(found)
  if (conflict) throw usageError(`--where: ${conflict.join(' and ')} cannot be combined`)
  return found
}

function parseFilter(text: string): [FilterFlag, string] {
  const [, word = '', given] = /^([^=]*)(?:=(.*))?$/s.exec(text) ?? []
  const { flag: name, isBare } = filterFlags.find(({ flag }) => flag === word) ?? {}
  if (!name)
    throw usageError(`--where: unknown filter "${word.split(',').at(-1)}"`, `use ${names.join(', ')}, as with list`)
  const value = isBare && given === 'true' ? undefined : given
  if (isBare && value !== undefined) throw usageError(`--where: ${name} takes no value`, `use ${name} alone`)
  if (!isBare && !value) throw usageError(`--where: ${name} needs a value`, `${name}=…`)
  return [name, value ?? '']
}

const unlimited = { limit: Number.POSITIVE_INFINITY, maxRequests: Number.POSITIVE_INFINITY }

/** Each record once, because their number is confirmed. */
export async function* findWhere(ctx: Context, where: readonly string[]): AsyncGenerator<readonly Consent[]> {
  const seen = new Set<string>()
  for await (const { records } of ctx.api.pages(await queryOf(ctx, parseWhere(where)), unlimited))
    yield unseen(records, seen)
}

const shownRecords = 10

/** Lists and confirms; returns ids, oldest first. @throws CliError `declined` (exit 9), `changed` (exit 10) */
export async function planWhere(
  ctx: Context,
  where: readonly string[],
  change: CommonChange,
  { asks, ...confirmation }: { readonly asks: boolean; readonly confirm?: number | undefined },
): Promise<string[]> {
  const ids: string[] = []
  const shown: Consent[] = []
  const counts = new Map<string, number>()
  let unchanged = 0
  for await (const records of findWhere(ctx, where)) {
    for (const record of records) {
      ids.push(record.id)
      if (changeOf(record, change) === null) unchanged += 1
      if (shown.length < shownRecords) shown.push(record)
      const site = record.site_id ?? '(none)'
      counts.set(site, (counts.get(site) ?? 0) + 1)
    }
  }
  requireConfirmedCount(confirmation, ids.length, 'record', 'changed')
  if (asks && ids.length > 0)
    await promptToConfirm(ctx, viewOf(change), shown, {
      action: 'change',
      noun: 'record',
      where: instanceLabel(ctx),
      counts,
      total: ids.length,
      notes: [
        `the change: ${describeWanted(change)}`,
        ...(unchanged > 0 ? [`${unchanged} of ${ids.length} already as wanted, which are not written`] : []),
      ],
    })
  return ids.reverse()
}

function viewOf({ preferences }: CommonChange): View<ConsentRow> {
  const names = Object.keys(preferences ?? {})
  const columns = names.flatMap(name => {
    const column = findPart(consentView.columns, `pref.${name}`)
    return column ? [{ ...column, rank: 3.5 }] : []
  })
  return { ...consentView, columns: [...consentView.columns.filter(({ name }) => name !== 'preferences'), ...columns] }
}

/** Such as `accepted: no; newsletter: false`. */
function describeWanted({ accepted, preferences, replace_preferences: replace }: CommonChange): string {
  const parts = accepted === undefined ? [] : [`accepted: ${accepted ? 'yes' : 'no'}`]
  for (const [name, value] of Object.entries(preferences ?? {})) parts.push(`${name}: ${safeJson(value)}`)
  if (replace) parts.push('every other preference removed')
  return visible(parts.join('; '))
}
