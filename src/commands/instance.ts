import type { Context } from '../context.ts'

/** `profile@host`: where a change was made, as mutations tell it. */
export function instanceOf({ settings }: Context): string {
  const host = settings.baseUrl ? new URL(settings.baseUrl.value).host : '?'
  return `${settings.profile.value}@${host}`
}

/** A number of things, records unless said, in words that fit it. */
export function counted(count: number, noun = 'record'): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}
