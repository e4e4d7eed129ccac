import type { Context } from '../context.ts'
import { ask, declinedError } from '../io/prompt.ts'
import { formats, type View, visible } from '../output/index.ts'

export interface Question {
  /** What would be done, as a verb. */
  readonly action: string
  /** What it would be done to, in the singular. */
  readonly noun: string
  /** Where it would be done. */
  readonly where: string
  /** How many there are of each site, where that says something. */
  readonly counts?: ReadonlyMap<string, number>
  /** How many there are, where what is shown are not the things themselves. */
  readonly total?: number
}

/**
 * Shows on stderr what a command would do its work on, and asks: yes or no for one, their number for several. Throws
 * when it is declined.
 */
export async function confirm<Row>(
  { io, interruption }: Context,
  view: View<Row>,
  rows: readonly Row[],
  { action, noun, where, counts, total = rows.length }: Question,
): Promise<void> {
  const single = total === 1
  const { columns, color } = io.err
  const show = await formats.table(single)
  await io.err.write(`${show(view, { single, columns, color, header: false }).rows(rows)}\n`)
  if (single) {
    const question = `${action[0]?.toUpperCase()}${action.slice(1)} this ${noun} on ${where}? [y/N] `
    if (!/^y(es)?$/i.test((await ask(io, question, interruption)).trim())) throw declinedError()
    return
  }
  for (const [site, count] of counts ?? []) await io.err.write(`${count} of site ${visible(site)}\n`)
  const answer = await ask(io, `Type ${total} to ${action} these ${noun}s on ${where}: `, interruption)
  if (answer.trim() !== String(total)) throw declinedError(answer.trim(), String(total))
}
