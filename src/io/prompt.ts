import { createInterface, type Interface } from 'node:readline/promises'
import { Writable } from 'node:stream'
import { CliError, exit } from '../errors/errors.ts'
import { type Io, interruptedError } from './io.ts'

export function canPrompt({ stdin, err }: Io): boolean {
  return stdin.isTTY === true && err.isTerminal
}

/** Asks on stderr and returns the answer. @throws CliError at Ctrl-C or the end of the input */
export async function prompt(io: Io, question: string, interruption: AbortSignal): Promise<string> {
  const lines = createInterface({ input: io.stdin, output: io.err.stream })
  const interrupted = new Promise<never>((_, reject) => {
    interruption.addEventListener('abort', () => reject(interruption.reason), { once: true })
  })
  const answer = ask(lines, question, () => io.err.write('\n'))
  return await Promise.race([answer, interrupted]).finally(() => lines.close())
}

/** Does not echo the input. */
export async function promptHidden(io: Io, question: string): Promise<string> {
  const output = new Writable({ write: (_chunk, _encoding, done) => done() })
  // Created before the question, because it sets raw mode: text pasted early must not be echoed.
  const lines = createInterface({ input: io.stdin, output, terminal: true })
  const answer = ask(lines, '', async () => {})
  answer.catch(() => {}) // thrown below
  try {
    await io.err.write(question)
    return await answer
  } finally {
    lines.close()
    await io.err.write('\n')
  }
}

async function ask(lines: Interface, question: string, endLine: () => Promise<void>): Promise<string> {
  const declined = new Promise<never>((_, reject) => {
    lines.once('SIGINT', () => {
      endLine().then(() => reject(interruptedError(exit.interrupted, '; nothing was done')), reject)
    })
    lines.once('close', () => reject(declinedError()))
  })
  return await Promise.race([lines.question(question), declined])
}

/** The user declined, or typed another number than requested (exit 9). */
export function declinedError(answer = '', wanted = ''): CliError {
  const said = /^\d+$/.test(answer) ? `${answer} is not ${wanted}` : 'declined'
  return new CliError('declined', exit.declined, `${said}; nothing was done`)
}
