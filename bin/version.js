// Says which build this is: the version, then the commit. The first word is the version.
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const root = fileURLToPath(new URL('..', import.meta.url))

export const inputs = ['bin', 'src', 'server', 'package.json', 'package-lock.json']

/** An image is built without the repository: CONSENTCTL_COMMIT names its commit. */
export function describeBuild() {
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  const commit = process.env.CONSENTCTL_COMMIT || commitOf()
  return `${version} (${commit ? `commit ${commit}` : 'commit unknown: built without git'})`
}

function commitOf() {
  if (!existsSync(join(root, '.git'))) return null // the repository of a folder above is another program's
  const commit = git('rev-parse', '--short=12', 'HEAD')
  return commit && git('status', '--porcelain', '--', ...inputs) ? `${commit}, modified` : commit
}

function git(...args) {
  const { status, stdout } = spawnSync('git', args, { cwd: root, encoding: 'utf8' })
  return status === 0 ? stdout.trim() : null
}
