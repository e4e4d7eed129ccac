import { readdirSync, readFileSync, statSync } from 'node:fs'
import { basename, join } from 'node:path'
import { expect } from 'vitest'
import type { RunResult } from './cli.ts'

/** What looks like a whole key, not like the `sk-…a1b2` that may be shown. */
const whole = /\bsk-[\w-]{12,}/g

/** Commands that print a key because that is what they are for. */
const givers = ['auth token', 'keys create', 'admin account', 'serve --quickstart']

/** Files that a test itself lays a key into, or has a command print one into. */
const given = /^(credentials\.json|.*key.*|account\.json|config\.json|helper\.sh|\d+)$/

/** Every key that a command of a test file was given, by the environment or by what it was fed; files share a process. */
const keysOfFiles = new Map<string | undefined, Set<string>>()

function keysGiven(): Set<string> {
  const { testPath } = expect.getState()
  const keys = keysOfFiles.get(testPath) ?? new Set()
  keysOfFiles.set(testPath, keys)
  return keys
}

/** Fails where a command has printed a key that it was given. Whatever the suite runs goes through this. */
export function expectNoKeyIn(
  args: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
  stdin: string | Uint8Array,
  { stdout, stderr }: RunResult,
): void {
  const mine = [env['CONSENTCTL_API_KEY'] ?? '', String(stdin)].flatMap(text => text.match(whole) ?? [])
  for (const key of mine) keysGiven().add(key)
  if (givers.some(words => args.join(' ').includes(words))) return
  for (const key of mine) expect(stdout + stderr, `the key, printed by ${args.join(' ')}`).not.toContain(key)
}

/** Fails where a file below a folder holds a key that the commands of this process were given, but for credentials.json. */
export function expectNoKeyBelow(folder: string): void {
  for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
    const file = join(folder, name)
    const found = statSync(file, { throwIfNoEntry: false })
    if (!found?.isFile() || found.size > 5_000_000 || given.test(basename(file))) continue
    const text = readFileSync(file, 'latin1')
    for (const key of keysGiven()) expect(text.includes(key), `a key is in ${name}`).toBe(false)
  }
}
