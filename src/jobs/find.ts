import { usageError } from '../errors/errors.ts'
import type { JobHeader, Kind } from './journals.ts'
import { readHeader } from './log.ts'
import { pathOf, type Run, runsIn } from './runs.ts'

/**
 * The last run of a job, by the job's id; with `last`, of the last job of the profile and instance in use. Throws a usage
 * error where there is none, which tells of the last one elsewhere.
 */
export async function findRun<Header extends JobHeader>(kind: Kind<Header>, wanted: string): Promise<Run> {
  const isNamed = wanted !== 'last'
  let other: string | null = null
  for (const run of await runsIn(kind.folder, isNamed ? wanted : undefined)) {
    const command = isNamed ? null : await elsewhere(kind, run)
    if (command === null) return run
    other ??= command
  }
  if (other !== null) {
    throw usageError(
      'there is no job of this profile and instance to go on with',
      `the last one of another: ${other}`,
    )
  }
  throw usageError(
    `there is no job ${isNamed ? `${wanted} ` : ''}to go on with`,
    `jobs that are not over are in ${kind.folder}`,
  )
}

/** As the kind tells it of a header. Whose a damaged journal is nobody knows: it is found, for whoever asks to hear of it. */
async function elsewhere<Header extends JobHeader>(kind: Kind<Header>, run: Run): Promise<string | null> {
  const read = readHeader({ path: pathOf(run), ifDamaged: kind.hints.damaged }, kind.header)
  return await read.then(
    ({ header }) => kind.elsewhere(header),
    () => null,
  )
}
