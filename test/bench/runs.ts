import { closeSync, createReadStream, openSync } from 'node:fs'
import { join } from 'node:path'
import { type Ended, runProgram } from './processes.ts'
import { binary, type Stage } from './stage.ts'

/** Where a program writes, and what it is to have written. */
export interface Expected {
  readonly lines: number
}

/** Runs the command line against our server, or against a proxy before it, with its output in a file. */
export function runOurs(stage: Stage, args: readonly string[], expected: Expected, url = stage.ours.url) {
  return toFile(stage, ['--require', './test/support/print-peak-memory.cjs', binary, ...args], expected, {
    CONSENTCTL_BASE_URL: url,
    CONSENTCTL_API_KEY: stage.account.api_key,
  })
}

/** Runs a bare program of this folder. */
export function runBare(stage: Stage, bundle: string, args: readonly string[], expected: Expected) {
  return toFile(stage, ['--require', './test/support/print-peak-memory.cjs', bundle, ...args], expected, {})
}

/** Throws where the output has not as many lines as it should: what is fast and wrong is not measured. */
async function toFile(
  stage: Stage,
  args: readonly string[],
  { lines }: Expected,
  env: Record<string, string>,
): Promise<Ended> {
  const file = join(stage.folder, 'output')
  const output = openSync(file, 'w')
  const { DATABASE_URL: _, ...rest } = stage.env
  const ended = await runProgram([process.execPath, ...args], { env: { ...rest, ...env }, stdout: output })
  closeSync(output)
  let written = 0
  for await (const chunk of createReadStream(file)) {
    for (const byte of chunk as Buffer) if (byte === 10) written += 1
  }
  if (written !== lines) throw new Error(`${args.join(' ')} wrote ${written} lines, not ${lines}`)
  return ended
}
