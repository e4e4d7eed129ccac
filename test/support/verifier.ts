import { type SpawnSyncOptions, spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'

const scriptOf = (name: string) => fileURLToPath(new URL(`../fixtures/verifier/${name}`, import.meta.url))

/** The interpreter itself: `python3` may be a script that looks for it, which takes longer than a verification. */
export const python =
  spawnSync('python3', ['-c', 'import sys; print(sys.executable)'], { encoding: 'utf8' }).stdout?.trim() || 'python3'

const missing = [python, 'openssl'].filter(name => spawnSync(name, ['--help']).error !== undefined)
/** Always in CI. */
export const hasVerifier = missing.length === 0 || Boolean(process.env['CI'])
if (!hasVerifier)
  process.stderr.write(`\n*** SKIPPED: the verifier in Python: ${missing.join(' and ')} not found. ***\n\n`)

type Options = Pick<SpawnSyncOptions, 'cwd' | 'input'> & { readonly script?: string }

/** Runs the verifier in Python, or another `script` beside it, which was written from the pages in src/evidence. */
export function runVerifier(args: readonly string[], { cwd, input, script = 'verify.py' }: Options = {}) {
  const { status, stdout, stderr } = spawnSync(python, [scriptOf(script), ...args], {
    ...{ cwd, input: input ?? '', encoding: 'utf8', maxBuffer: 2 ** 28 },
    env: { ...process.env, PYTHONUTF8: '1', PYTHONDONTWRITEBYTECODE: '1' },
  })
  return { status, lines: stdout.trimEnd().split('\n'), stderr }
}
