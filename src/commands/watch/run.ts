import { spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Event } from '../../contract/events.ts'
import { CliError, exit } from '../../errors/errors.ts'
import { mapInOrder } from '../../io/concurrency.ts'

interface Run {
  readonly command: string
  readonly concurrency: number
  /** Called with the last position of which it and all before it are done. */
  readonly keep: (after: number) => Promise<void>
  /** Then no further command begins. */
  readonly interruption: AbortSignal
}

/**
 * Runs the command in a shell for each event, with the event on stdin: at most one at a time of a record, in order.
 * Returns false if it was interrupted before all were done.
 * @throws CliError `command_failed` (exit 8) for the first that fails, after those in work have ended
 */
export async function runForEvents(
  events: readonly Event[],
  { command, concurrency, keep, interruption }: Run,
): Promise<boolean> {
  const last = new Map<string, Promise<unknown>>()
  const run = async (event: Event) => {
    const name = event.record_id ?? ''
    const work = (last.get(name) ?? Promise.resolve()).then(() => {
      interruption.throwIfAborted()
      return runOne(command, event)
    })
    last.set(name, work)
    await work
    return event.position
  }
  try {
    for await (const position of mapInOrder(events, { concurrency }, run)) await keep(position)
    return true
  } catch (error) {
    if (interruption.aborted) return false // a signal of the terminal reaches the commands, too
    throw error
  }
}

async function runOne(command: string, event: Event): Promise<void> {
  const child = spawn(command, { shell: true, stdio: ['pipe', 'inherit', 'inherit'] })
  child.stdin.on('error', () => {}) // it may end without reading
  child.stdin.end(`${JSON.stringify(event)}\n`)
  const [code, signal] = await once(child, 'close')
  if (code === 0) return
  const how = signal ? `was ended by ${signal}` : `ended with ${code}`
  throw new CliError('command_failed', exit.partial, `the command ${how} for the event ${event.position}`, {
    hint: 'with --state, the next run begins with this event',
  })
}
