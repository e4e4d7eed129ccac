import * as z from 'zod'
import { type JobKind, type Jobs, jobsOf } from '../../../src/jobs/jobs.ts'

const Header = z.object({ job: z.string(), note: z.string() })
export type Header = z.output<typeof Header>

/** An event is the next number. */
export type Counted = readonly ['n', number]

/** Jobs that count. */
export function countingJobs(
  folder: string,
  host: JobKind<Header>['host'] = process,
  elsewhere: JobKind<Header>['elsewhere'] = () => null,
): Jobs<Header, Counted> {
  return jobsOf<Header, Counted>({
    folder,
    header: Header,
    host,
    elsewhere,
    hints: { damaged: 'count again', unwritable: 'count elsewhere' },
  })
}
