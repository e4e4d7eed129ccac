import type { Key } from 'node:readline'
import { createInterface, type Interface } from 'node:readline/promises'
import { Writable } from 'node:stream'
import { CliError, exit } from '../errors/errors.ts'
import { type Io, interruptedError } from './io.ts'

export function canPrompt({ stdin, err }: Io): boolean {
  return stdin.isTTY === true && err.isTerminal
}

/** Inputs that have ended, on which a prompt would wait forever. */
const ended = new WeakSet<object>()

/** Prompts on stderr. @throws CliError at Ctrl-C or the end of input */
export async function prompt(io: Io, question: string, interruption: AbortSignal): Promise<string> {
  const lines = createInterface({ input: io.stdin, output: io.err.stream })
  const interrupted = new Promise<never>((_, reject) => {
    interruption.addEventListener('abort', () => reject(interruption.reason), { once: true })
  })
  const answer = ask(io, lines, question, () => io.err.write('\n'))
  return await Promise.race([answer, interrupted]).finally(() => lines.close())
}

export async function promptHidden(io: Io, question: string): Promise<string> {
  const output = new Writable({ write: (_chunk, _encoding, done) => done() })
  // Sets raw mode before the question, so that early input is not echoed.
  const lines = createInterface({ input: io.stdin, output, terminal: true })
  const answer = ask(io, lines, '', async () => {})
  answer.catch(() => {}) // thrown below
  try {
    await io.err.write(question)
    return await answer
  } finally {
    lines.close()
    await io.err.write('\n')
  }
}

async function ask({ stdin }: Io, lines: Interface, question: string, endLine: () => Promise<void>): Promise<string> {
  if (ended.has(stdin)) throw declinedError()
  // A terminal that receives Ctrl-D before raw mode passes it on as NUL.
  const onKey = (_: unknown, { sequence }: Key) => void (sequence === '\0' && lines.close())
  let onClose = () => {}
  const declined = new Promise<never>((_, reject) => {
    lines.once('SIGINT', () => {
      endLine().then(() => reject(interruptedError(exit.interrupted, '; nothing was done')), reject)
    })
    onClose = () => {
      ended.add(stdin)
      reject(declinedError())
    }
    lines.once('close', onClose)
  })
  stdin.on('keypress', onKey)
  try {
    return await Promise.race([lines.question(question), declined])
  } finally {
    stdin.off('keypress', onKey)
    lines.off('close', onClose)
  }
}

/** The error with exit code 9. */
export function declinedError(said = 'declined'): CliError {
  return new CliError('declined', exit.declined, `${said}; nothing was done`)
}
