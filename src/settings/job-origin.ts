import { usageError } from '../errors/errors.ts'
import { requireBaseUrl, type Settings } from './settings.ts'

/** The profile and the instance that a job was started with. */
interface JobOrigin {
  readonly profile: string
  readonly base_url: string
}

/** Adds the flags that select the job's instance to `command`; returns null if the settings select it already. */
export function commandForOrigin(
  settings: Settings,
  { profile, base_url }: JobOrigin,
  command: string,
): string | null {
  if (settings.profile.value === profile && requireBaseUrl(settings) === base_url) return null
  return `${command} -p ${profile} --base-url ${base_url}`
}

/** @throws CliError (usage) if the settings select another instance than the job's. */
export function requireSameOrigin(settings: Settings, origin: JobOrigin, command: string): void {
  const hint = commandForOrigin(settings, origin, command)
  if (hint === null) return
  const now = `${settings.profile.value} at ${requireBaseUrl(settings)}`
  throw usageError(
    `the job was started with profile ${origin.profile} at ${origin.base_url}, and this is ${now}`,
    hint,
  )
}
