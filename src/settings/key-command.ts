import { spawn } from 'node:child_process'
import { statSync } from 'node:fs'
import { userInfo } from 'node:os'
import { settingsError } from '../errors/errors.ts'
import { noKey } from './key.ts'

/** Bytes that a command may print; a key has about a hundred. */
const largest = 64 * 1024

export interface CommandContext {
  /** Whose command it is. */
  readonly profile: string
  /** Where it stands: who may write there may run anything as this user. */
  readonly configFile: string
  readonly env: Readonly<Record<string, string | undefined>>
}

/**
 * What a profile's key_command prints. The shell runs it, as git's and aws's credential commands; stderr is the user's,
 * so that it can ask; stdin is not, for it may hold records. It has `limit` milliseconds.
 */
export async function runKeyCommand(
  command: string,
  { profile, configFile, env }: CommandContext,
  limit = 30_000,
): Promise<string> {
  refuseForeign(configFile)
  const fails = (reason: string) =>
    noKey(
      `the key_command of profile ${profile} ${reason}`,
      `run it by itself: consentctl config get key_command -p ${profile}`,
    )
  return await new Promise((resolve, reject) => {
    const child = spawn(command, { shell: true, env, stdio: ['ignore', 'pipe', 'inherit'] })
    const chunks: Buffer[] = []
    let size = 0
    const stop = (reason: string) => {
      child.kill()
      child.stdout.destroy() // what the command has started may hold it open
      child.unref()
      reject(fails(reason))
    }
    const timer = setTimeout(() => stop(`did not end in ${limit / 1000} s`), limit)
    child.stdout.on('data', (chunk: Buffer) => {
      size += chunk.length
      chunks.push(chunk)
      if (size > largest) stop('prints more than any key is long')
    })
    child.once('error', error => stop(`cannot be run: ${error.message}`))
    child.once('close', (code, signal) => {
      clearTimeout(timer)
      if (code === 0) resolve(Buffer.concat(chunks).toString('utf8'))
      else reject(fails(code === null ? `was ended by ${signal}` : `failed with exit code ${code}`))
    })
  })
}

/** Refuses a command that somebody else may have written: the file must be one that only its owner and root can change. */
function refuseForeign(configFile: string): void {
  const { mode, uid } = statSync(configFile)
  const me = userInfo().uid
  if (me === -1) return // Windows keeps this otherwise
  if ((mode & 0o022) === 0 && (uid === me || uid === 0)) return
  throw settingsError(
    `${configFile} can be changed by others, so that no key_command in it is run`,
    `see what it holds; then chown it to yourself, and chmod 600 ${configFile}`,
  )
}
