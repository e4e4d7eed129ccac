// Imports nothing from Node.js, because the dashboard uses this too.
import type { AuditEntry } from '../contract/index.ts'

export const listFile = 'pack.json'
export const sumsFile = 'SHA256SUMS'

const listed =
  /^(README\.txt|index\.html|profile-key\.pem|consent-keys\.json|keys\/[\w-]{43}\.pem|record\.json|history\.json|receipt\.json|((newer-)?checkpoint|consistency|record(-first)?\.inclusion|notice(\.inclusion)?)\.json|notice\/[A-Za-z\d-]+\.(txt|md|html\.txt|pdf)|administration\/\d+(\.inclusion)?\.json|checkpoint\.(tsr|tlog)|(record|notice)\.tlog-proof)$/

/** Returns true for a pack's files, except its lists of files. */
export function isPackFile(name: string): boolean {
  return listed.test(name)
}

/**
 * Returns true if a history shows its end without a signed list of files. A deletion does, because no receipt is
 * signed for a deleted record.
 */
export function isEndShown(pack: { readonly receipt: unknown; readonly history: readonly AuditEntry[] }): boolean {
  return pack.receipt !== null || isDeletion(pack.history.at(-1)?.action)
}

export function isDeletion(action: string | null | undefined): boolean {
  return action === 'deleted' || action === 'purged'
}

export function proofOf(file: string): string {
  return file.replace(/json$/, 'inclusion.json')
}

/** HTML gets a second extension, because a browser would run an operator's upload. */
const extensions: Readonly<Record<string, string>> = {
  'text/plain': 'txt',
  'text/markdown': 'md',
  'text/html': 'html.txt',
  'application/pdf': 'pdf',
}

export function textFile(text: { readonly language: string; readonly media_type: string }): string {
  return `notice/${text.language}.${extensions[text.media_type.replace(/;.*$/, '')] ?? 'bin'}`
}

/** Formats `SHA256SUMS` for `sha256sum -c`. */
export function formatSums(list: readonly { readonly name: string; readonly sha256: string }[]): string {
  return list.map(({ name, sha256 }) => `${sha256}  ${name}\n`).join('')
}
