// Caches Node.js releases from npm in node_modules/.cache.
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const root = fileURLToPath(new URL('..', import.meta.url))

/** Returns true if the program exits with 0. Its output goes to stderr. */
export function run(command, args, env = {}) {
  const options = { cwd: root, env: { ...process.env, ...env }, stdio: ['ignore', 2, 2] }
  const shell = command === 'npm' && process.platform === 'win32'
  return spawnSync(command, args, { ...options, shell }).status === 0
}

/** Falls back to an earlier download; null if there is none. */
export function fetchNode(major) {
  const platform = process.platform === 'win32' ? 'win' : process.platform
  const prefix = platform === 'darwin' && process.arch === 'arm64' ? 'node-bin' : 'node'
  const name = `${prefix}-${platform}-${process.arch}`
  const folder = join(root, 'node_modules', '.cache', 'nodes', String(major))
  const executable = join(folder, 'node_modules', name, 'bin', platform === 'win' ? 'node.exe' : 'node')
  mkdirSync(folder, { recursive: true })
  const flags = ['--no-save', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error']
  const isFetched = run('npm', ['install', '--prefix', folder, ...flags, `${name}@${major}`])
  return isFetched || existsSync(executable) ? executable : null
}
