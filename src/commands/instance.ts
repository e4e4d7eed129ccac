import type { Context } from '../context.ts'

/** `profile@host`: where a change was made, as mutations tell it. */
export function instanceOf({ settings }: Context): string {
  const host = settings.baseUrl ? new URL(settings.baseUrl.value).host : '?'
  return `${settings.profile.value}@${host}`
}

/** A number of records, in words that fit it. */
export function counted(count: number): string {
  return count === 1 ? '1 record' : `${count} records`
}
