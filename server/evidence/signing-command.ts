import { spawn } from 'node:child_process'

interface CommandRun {
  readonly message: Buffer
  /** The command's `$1`. */
  readonly keyId: string
  readonly timeoutMs: number
}

const maxOutputBytes = 4096

/**
 * Returns the standard output.
 * @throws Error whose message completes "the command …"
 */
export function runSigningCommand(command: string, { message, keyId, timeoutMs }: CommandRun): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const child = spawn('sh', ['-c', command, 'sh', keyId], {
      detached: process.platform !== 'win32', // a process group, to kill all of it
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    const fail = (reason: string) => {
      clearTimeout(timer)
      killGroup(child.pid)
      child.stdout.destroy() // a process that left the group may keep it open
      reject(new Error(reason))
    }
    const timer = setTimeout(() => fail(`took more than ${timeoutMs} ms`), timeoutMs)
    const chunks: Buffer[] = []
    let length = 0
    child.stdout.on('data', (chunk: Buffer) => {
      chunks.push(chunk)
      length += chunk.length
      if (length > maxOutputBytes) fail('wrote more than a signature')
    })
    child.on('error', error => fail(`cannot be run: ${error.message}`))
    child.stdin.on('error', () => {}) // it may ignore the message: its signature is verified
    child.on('close', (code, signal) => {
      clearTimeout(timer)
      if (code === 0) resolve(Buffer.concat(chunks))
      else reject(new Error(`ended with ${code === null ? signal : `the code ${code}`}`))
    })
    child.stdin.end(message)
  })
}

function killGroup(pid: number | undefined): void {
  if (pid === undefined) return
  try {
    process.kill(process.platform === 'win32' ? pid : -pid, 'SIGKILL')
  } catch (error) {
    // EPERM: the command is another user's, as with sudo.
    if (!['ESRCH', 'EPERM'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error
  }
}
