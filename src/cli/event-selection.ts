import type { Command } from 'commander'
import * as z from 'zod'
import { type Event, EventType } from '../contract/events.ts'
import { parseInstant } from '../contract/instant.ts'
import { usageError } from '../errors/errors.ts'
import { collect, nonEmpty } from './action.ts'
import type { Start } from './follow.ts'
import { startInstant } from './time.ts'

export const selectionOptions = {
  after: z
    .string()
    .regex(/^\d{1,10}$/, 'must be a position, from 0')
    .transform(Number)
    .optional(),
  from: nonEmpty.optional(),
  type: z.array(EventType).optional(),
}

type Selection = z.output<z.ZodObject<typeof selectionOptions>>

export function addSelectionFlags(command: Command): Command {
  return command
    .option('--after <position>', 'begin behind this position')
    .option('--from <time>', 'begin at this time: RFC 3339, 2026-01-31 (UTC), 7d or 24h ago')
    .option('--type <type>', 'only events of this type, such as withdrawn or erased; repeatable', collect)
}

/** @throws CliError (usage) for two starts */
export function readStart({ after, from }: Pick<Selection, 'after' | 'from'>): Start {
  if (after !== undefined && from !== undefined) throw usageError('--after cannot be combined with --from')
  if (after !== undefined) return { after }
  return from === undefined ? { newest: true } : { from: startInstant(from, new Date()) }
}

/** The service may begin somewhat before `from`. */
export function selectEvents(
  events: readonly Event[],
  { from }: Start,
  types: readonly string[] | undefined,
): readonly Event[] {
  const earliest = (from === undefined ? null : parseInstant(from)) ?? Number.NEGATIVE_INFINITY
  return events.filter(
    ({ type, at }) => (!types || types.includes(type)) && (at === null || Date.parse(at) >= earliest),
  )
}
