import { describeRetention } from '../../../../src/contract/retention.ts'
import type { Retention, Site } from '../../../../src/contract/sites.ts'
import { parseValidity } from '../../../../src/contract/validity.ts'
import { options } from './command.tsx'
import { Check, Field, fieldsOf, Select, toNumber } from './form.tsx'

/** The form's values, as typed: one origin per line; no retention means never. */
export const newSiteFields = {
  name: '',
  policy_version: '1',
  allowed_origins: '',
  retention: '',
  retention_after: 'withdrawal' as Retention['after'],
  strict_notices: false,
}

export type SiteFields = typeof newSiteFields

export function toFields(site: Site): SiteFields {
  return {
    name: site.name,
    policy_version: String(site.policy_version),
    allowed_origins: site.allowed_origins.join('\n'),
    retention: site.retention?.period ?? '',
    retention_after: site.retention?.after ?? newSiteFields.retention_after,
    strict_notices: site.strict_notices,
  }
}

const starts = [
  ['withdrawal', 'the withdrawal of the consent'],
  ['expiry', 'the end of its validity'],
  ['last_change', 'the last change of the record'],
  ['creation', 'the creation of the record'],
] as const

interface SiteFieldsProps {
  readonly fields: SiteFields
  readonly onFields: (fields: SiteFields) => void
}

export function SiteFieldInputs({ fields, onFields }: SiteFieldsProps) {
  const field = fieldsOf(fields, onFields)
  return (
    <>
      <Field label="Name" isRequired {...field('name')} />
      <Field label="Policy version" hint="Of new records. Those that exist keep theirs." {...field('policy_version')} />
      <Field
        label="Allowed origins"
        hint="One a line, such as https://shop.example: only their pages can record a consent from a browser."
        lines={4}
        {...field('allowed_origins')}
      />
      <Field
        label="Retention period"
        hint="An ISO 8601 duration, such as P3Y or P90D. Then records are deleted, and later purged. Empty: never."
        {...field('retention')}
      />
      <Select label="The period counts from" options={starts} {...field('retention_after')} />
      <Check
        label="Strict notices: reject a consent to a policy version without a published notice"
        {...field('strict_notices')}
      />
    </>
  )
}

type Settings = Pick<Site, 'name' | 'policy_version' | 'allowed_origins' | 'retention' | 'strict_notices'>
export type SettingsChange = { -readonly [K in keyof Settings]?: Settings[K] | undefined }

/** Keeps text that is not a number, so that the service rejects it and no typing error becomes "never". */
export function settingsOf(fields: SiteFields): Settings {
  const { name, strict_notices } = fields
  const period = fields.retention.trim()
  return {
    name,
    strict_notices,
    policy_version: toNumber(fields.policy_version),
    allowed_origins: fields.allowed_origins.split(/\s+/).filter(line => line !== ''),
    retention: period === '' ? null : { period, after: fields.retention_after },
  }
}

/**
 * `base` is the site as the page showed it. Origins are merged into those of `present`, so that another user's changes
 * stay.
 */
export function changeOf(fields: SiteFields, base: Site, present: Site): SettingsChange {
  const wanted = settingsOf(fields)
  const { added, removed } = originChange(wanted.allowed_origins, base.allowed_origins)
  const isChanged = (name: keyof Settings) => name !== 'allowed_origins' && !isSame(wanted[name], base[name])
  const kept = present.allowed_origins.filter(origin => !removed.includes(origin) && !added.includes(origin))
  return {
    ...Object.fromEntries(Object.entries(wanted).filter(([name]) => isChanged(name as keyof Settings))),
    ...(added.length + removed.length > 0 && { allowed_origins: [...kept, ...added] }),
  }
}

function isSame(one: Settings[keyof Settings] | undefined, other: Settings[keyof Settings]): boolean {
  const text = (value: typeof one) => JSON.stringify(isRetention(value) ? [value.period, value.after] : value)
  return text(one) === text(other)
}

function isRetention(value: unknown): value is NonNullable<Site['retention']> {
  return typeof value === 'object' && value !== null && 'period' in value
}

export function originChange(wanted: readonly string[], before: readonly string[]) {
  return {
    added: wanted.filter(origin => !before.includes(origin)),
    removed: before.filter(origin => !wanted.includes(origin)),
  }
}

/** Returns the policy version that needs a published notice because of this change. */
export function neededNotice(change: SettingsChange, present: Site): number | undefined {
  const { strict_notices: isStrict, policy_version: version } = { ...present, ...change }
  const isNew = !present.strict_notices || version !== present.policy_version
  return isStrict && isNew ? version : undefined
}

export function risksOf(change: SettingsChange, base: Site, present: Site, isNoticeMissing: boolean): string[] {
  const { retention, allowed_origins } = change
  const risks: string[] = []
  if (retention && parseValidity(retention.period))
    risks.push(
      `Records will be deleted ${describeRetention(retention)}, the first of them within the hour. Until now: ${never(present.retention)}.`,
    )
  const { removed } = originChange(allowed_origins ?? present.allowed_origins, present.allowed_origins)
  if (removed.length > 0) risks.push(`Pages of these origins can record no consent any more: ${removed.join(', ')}`)
  if (isNoticeMissing)
    risks.push(
      `Consents to policy version ${change.policy_version ?? present.policy_version} will be rejected until its notice is published, and in the log.`,
    )
  const foreign = (['name', 'policy_version', 'retention', 'strict_notices'] as const).filter(
    name => name in change && !isSame(present[name], base[name]) && !isSame(change[name], present[name]),
  )
  const replaced = foreign.map(
    name => `${name.replace('_', ' ')} (now ${name === 'retention' ? never(present.retention) : present[name]})`,
  )
  if (replaced.length > 0)
    risks.push(`Another user has changed this since you opened the page, and you replace it: ${replaced.join(', ')}`)
  return risks
}

export function never(retention: Site['retention']): string {
  return describeRetention(retention) || 'never'
}

function retentionFlags(retention: Site['retention'] | undefined) {
  return { retain: retention?.period, after: retention?.after.replace('_', '-') }
}

export function updateCommand(fields: SiteFields, base: Site): string[] {
  const change = changeOf(fields, base, base)
  if (Object.keys(change).length === 0) return ['list']
  const { added, removed } = originChange(change.allowed_origins ?? base.allowed_origins, base.allowed_origins)
  const { name, policy_version: version, retention, strict_notices: isStrict } = change
  return [
    'update',
    base.id,
    ...options({
      name,
      'policy-version': version?.toString(),
      'add-origin': added,
      'remove-origin': removed,
      'clear-retention': retention === null,
      ...retentionFlags(retention),
      'strict-notices': isStrict === true,
      'no-strict-notices': isStrict === false,
    }),
  ]
}

export function createCommand(fields: SiteFields): string[] {
  const { name, policy_version: version, allowed_origins, retention, strict_notices } = settingsOf(fields)
  return [
    'create',
    ...options({
      name: name || 'NAME',
      'policy-version': version === 1 ? '' : String(version),
      origin: allowed_origins,
      ...retentionFlags(retention),
      'strict-notices': strict_notices,
    }),
  ]
}
