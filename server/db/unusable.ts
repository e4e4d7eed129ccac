// What is said about files of the embedded database that PostgreSQL does not open.
import { OperatorError } from '../../src/contract/index.ts'

/** Finds in PostgreSQL's log why it ended, such as `could not read file "global/pg_control": read 0 of 296`. */
export function reasonIn(log: readonly string[]): string | undefined {
  const said = log.map(line => / (FATAL|PANIC|DETAIL): +(.+)/.exec(line)).filter(found => found !== null)
  const end = said.findIndex(([, level]) => level !== 'DETAIL')
  return end < 0
    ? undefined
    : said
        .slice(end, end + 2)
        .map(([, , text]) => text)
        .join(': ')
}

/** What to do about files that PostgreSQL does not open, by what it says. */
const hints: readonly (readonly [reasons: RegExp, hint: (data: string) => string])[] = [
  [/permission denied|EACCES|EPERM/i, data => `let the user of this process own everything in ${data}`],
  [/no space left|ENOSPC|EDQUOT/i, data => `make room on the disk of ${data}`],
  [
    /incompatible with server/,
    data => `open ${data} with the version of consentctl that made it, and move it over: admin export`,
  ],
  [/./, data => `put ${data} back from a backup, or move it away to begin with an empty database`],
]

/** Makes the error of a database's files: why they cannot be opened, and what to do. */
export function unusable(data: string, reason: string): OperatorError {
  const hint = hints.find(([reasons]) => reasons.test(reason))?.[1](data)
  return new OperatorError(reason, hint === undefined ? {} : { hint })
}
