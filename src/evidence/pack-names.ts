// Imports nothing from Node.js, because the dashboard uses this too.

export const listFile = 'pack.json'
export const sumsFile = 'SHA256SUMS'

const listed =
  /^(README\.txt|index\.html|profile-key\.pem|consent-keys\.json|keys\/[\w-]{43}\.pem|record\.json|history\.json|receipt\.json|(checkpoint|record(-first|-\d+)?\.inclusion|notice(\.inclusion)?)\.json|checkpoints\/\d+(\.consistency\.json|\.json|\.tsr)|notice\/[A-Za-z\d-]+\.(txt|md|html\.txt|pdf)|administration\/\d+(\.inclusion)?\.json|checkpoint\.(tsr|tlog)|(record|notice)\.tlog-proof)$/

/** Without its lists of files. */
export function isPackFile(name: string): boolean {
  return listed.test(name)
}

export const administrationEntry = /^administration\/(\d+)\.json$/
export const earlierCheckpoint = /^checkpoints\/(\d+)\.json$/
export const betweenProof = /^record-(\d+)\.inclusion\.json$/

/** By the number in each. */
export function listNames(files: { keys(): Iterable<string> }, pattern: RegExp): string[] {
  const numberOf = (name: string) => Number(pattern.exec(name)?.[1])
  return [...files.keys()].filter(name => pattern.test(name)).sort((one, other) => numberOf(one) - numberOf(other))
}

export function proofOf(file: string): string {
  return file.replace(/json$/, 'inclusion.json')
}

/** Of an earlier checkpoint with the pack's. */
export function consistencyOf(file: string): string {
  return file.replace(/json$/, 'consistency.json')
}

/** A second extension for HTML: a browser would run an operator's upload. */
const extensions: Readonly<Record<string, string>> = {
  'text/plain': 'txt',
  'text/markdown': 'md',
  'text/html': 'html.txt',
  'application/pdf': 'pdf',
}

export function textFile(text: { readonly language: string; readonly media_type: string }): string {
  return `notice/${text.language}.${extensions[text.media_type.replace(/;.*$/, '')] ?? 'bin'}`
}

/** For `sha256sum -c`. */
export function formatSums(list: readonly { readonly name: string; readonly sha256: string }[]): string {
  return list.map(({ name, sha256 }) => `${sha256}  ${name}\n`).join('')
}
