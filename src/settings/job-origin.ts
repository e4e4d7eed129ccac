import { usageError } from '../errors/errors.ts'
import { requireBaseUrl, type Settings } from './settings.ts'

/** The profile and the instance that a job was started with. */
export interface JobOrigin {
  readonly profile: string
  readonly base_url: string
}

/** Adds the flags that lead to the job's instance to `command`; null if the settings lead there already. */
export function commandForOrigin(
  settings: Settings,
  { profile, base_url }: JobOrigin,
  command: string,
): string | null {
  if (settings.profile.value === profile && requireBaseUrl(settings) === base_url) return null
  return `${command} -p ${profile} --base-url ${base_url}`
}

/** @throws CliError (usage) if the settings lead to another instance than the one on which the job was started. */
export function requireSameOrigin(settings: Settings, origin: JobOrigin, command: string): void {
  const hint = commandForOrigin(settings, origin, command)
  if (hint === null) return
  const now = `${settings.profile.value} at ${requireBaseUrl(settings)}`
  throw usageError(
    `the job was started with profile ${origin.profile} at ${origin.base_url}, and this is ${now}`,
    hint,
  )
}
