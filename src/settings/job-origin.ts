import { usageError } from '../errors/errors.ts'
import { requireBaseUrl, type Settings } from './settings.ts'

/** Where a job was begun. */
export interface JobOrigin {
  readonly profile: string
  readonly base_url: string
}

/** The command that goes on with a job, with the flags that lead to where it was begun; null where that is here. */
export function commandForOrigin(
  settings: Settings,
  { profile, base_url }: JobOrigin,
  command: string,
): string | null {
  if (settings.profile.value === profile && requireBaseUrl(settings) === base_url) return null
  return `${command} -p ${profile} --base-url ${base_url}`
}

/** A job goes on where it began: what it did elsewhere is not there. Throws a usage error where that is not here. */
export function requireSameOrigin(settings: Settings, begun: JobOrigin, command: string): void {
  const hint = commandForOrigin(settings, begun, command)
  if (hint === null) return
  const now = `${settings.profile.value} at ${requireBaseUrl(settings)}`
  throw usageError(
    `the job was begun with the profile ${begun.profile} at ${begun.base_url}, and now it is ${now}`,
    hint,
  )
}
