import * as z from 'zod'
import { type Journals, journalsOf, type Kind } from '../../../src/jobs/journals.ts'

const Header = z.object({ job: z.string(), pid: z.number(), note: z.string() })
export type Header = z.output<typeof Header>

/** A job that counts: an event is the next number. */
export type Counted = readonly ['n', number]

/** Journals of jobs that count. */
export function counting(
  folder: string,
  host: Kind<Header>['host'] = process,
  elsewhere: Kind<Header>['elsewhere'] = () => null,
): Journals<Header, Counted> {
  return journalsOf<Header, Counted>({
    folder,
    header: Header,
    host,
    elsewhere,
    hints: { damaged: 'count again', unwritable: 'count elsewhere' },
  })
}
