import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import type { NewAccount } from '../../src/contract/server.ts'
import { binary, runBinary } from './cli.ts'

/** The built server as a process of its own. */
export interface ServerProcess {
  readonly url: string
  readonly child: ChildProcess
  /** Everything it has written so far: stdout, then what went to stderr. */
  readonly output: () => string
  /** Sends a signal and resolves to the exit code, or to the signal's name if that ended it. */
  end(signal: 'SIGTERM' | 'SIGINT' | 'SIGKILL'): Promise<number | string>
}

type Env = Record<string, string | undefined>

/** Runs `consentctl serve` with more arguments and resolves when it serves; rejects with its output if it does not. */
export async function startServer(
  args: readonly string[],
  env: Env,
  lastLine = /serving on/,
  program = binary,
): Promise<ServerProcess> {
  const child = spawn(process.execPath, [program, 'serve', ...args], {
    env: { PATH: process.env['PATH'], ...env },
  })
  let output = ''
  child.stderr.on('data', chunk => {
    output += String(chunk)
  })
  const exited = once(child, 'exit')
  let url = ''
  for await (const line of createInterface({ input: child.stdout })) {
    output += `${line}\n`
    url ||= /serving on (\S+)/.exec(line)?.[1] ?? ''
    if (lastLine.test(line)) break
  }
  if (!url) throw new Error(`the server did not start: ${output}`)
  child.stdout.resume()
  return {
    url,
    child,
    output: () => output,
    end: async signal => {
      child.kill(signal)
      const [code, by] = await exited
      return (code as number | null) ?? (by as string)
    },
  }
}

/** A new account in a server's database, by the built executable. */
export async function createAccount(args: readonly string[], env: Env): Promise<NewAccount> {
  const { code, stdout, stderr } = await runBinary(['admin', 'account', 'create', '--json', ...args], { env })
  if (code !== 0) throw new Error(stderr)
  return JSON.parse(stdout) as NewAccount
}
