import { createInterface } from 'node:readline/promises'
import { CliError, exit } from '../errors/errors.ts'
import { type Host, type Io, interruptedError } from './io.ts'

/** True if stdin and stderr are terminals. */
export function canPrompt({ stdin, err }: Io): boolean {
  return stdin.isTTY === true && err.isTerminal
}

/** Asks a question on stderr and returns the answer. @throws CliError at Ctrl-C or the end of the input */
export async function prompt(io: Io, question: string, interruption: AbortSignal): Promise<string> {
  const lines = createInterface({ input: io.stdin, output: io.err.stream })
  try {
    const declined = new Promise<never>((_, reject) => {
      lines.once('SIGINT', () => {
        io.err
          .write('\n')
          .then(() => reject(interruptedError(exit.interrupted, '; nothing was done')), reject)
      })
      lines.once('close', () => reject(declinedError()))
      interruption.addEventListener('abort', () => reject(interruption.reason), { once: true })
    })
    return await Promise.race([lines.question(question), declined])
  } finally {
    lines.close()
  }
}

/** Like `prompt`, without showing the input. */
export async function promptHidden(io: Io, question: string): Promise<string> {
  const { stdin } = io
  stdin.setRawMode?.(true) // before the question, so that text pasted early is not echoed
  try {
    await io.err.write(question)
    return await readHidden(stdin)
  } finally {
    stdin.setRawMode?.(false)
    stdin.pause()
    await io.err.write('\n')
  }
}

async function readHidden(stdin: Host['stdin']): Promise<string> {
  let typed = ''
  return await new Promise((resolve, reject) => {
    const onData = (chunk: Buffer) => {
      for (const character of chunk.toString('utf8')) {
        if (character === '\r' || character === '\n') return finish(() => resolve(typed))
        if (character === '\u0003')
          return finish(() => reject(interruptedError(exit.interrupted, '; nothing was done')))
        if (character === '\u0004') return finish(() => reject(declinedError()))
        typed = character === '\u007f' || character === '\b' ? typed.replace(/.$/su, '') : typed + character
      }
    }
    const finish = (settle: () => void) => {
      stdin.off('data', onData)
      settle()
    }
    stdin.on('data', onData)
  })
}

/** The user declined, or typed another number than the requested one (exit 9). */
export function declinedError(answer = '', wanted = ''): CliError {
  const said = /^\d+$/.test(answer) ? `${answer} is not ${wanted}` : 'declined'
  return new CliError('declined', exit.declined, `${said}; nothing was done`)
}
