import { hostname, userInfo } from 'node:os'

/** Who works, by the operating system, and on which machine. */
export function worker(): { readonly who: string; readonly host: string } {
  return { who: userName(), host: hostname() }
}

function userName(): string {
  try {
    return userInfo().username
  } catch {
    return 'unknown' // a container may have a user without a name
  }
}
