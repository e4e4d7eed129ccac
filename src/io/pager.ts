import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { CliError, exit } from '../errors/errors.ts'
import type { Host } from './io.ts'

/** `closed`: the user has quit the pager. */
interface Pager {
  readonly closed: boolean
  write(text: string): Promise<void>
  /** Resolves when the user quits. @throws CliError */
  end(): Promise<void>
}

/** Default: less, which quits if everything fits on a screen. */
export function openPager({ env }: Pick<Host, 'env'>): Pager {
  const command = env['PAGER'] || 'less'
  const surroundings = { LESS: 'FRX', ...env }
  const child = spawn(command, { shell: true, stdio: ['pipe', 'inherit', 'inherit'], env: surroundings })
  const ended = once(child, 'close')
  ended.catch(() => {}) // thrown by end()
  let closed = false
  child.stdin.on('error', () => {
    closed = true
  })
  return {
    get closed() {
      return closed
    },
    write: text =>
      new Promise(resolve => {
        if (closed || text === '') return resolve()
        child.stdin.write(text, () => resolve())
      }),
    end: async () => {
      child.stdin.end()
      const [code] = await ended
      if (code === 126 || code === 127)
        throw new CliError('io', exit.failure, `the pager "${command}" cannot be run`, { hint: 'set PAGER' })
    },
  }
}
