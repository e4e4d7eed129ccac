// Prepares a fresh clone with Node and npm alone: installs and builds, each only if necessary.
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describeBuild, inputs, root } from './version.js'

// `prepack` did this before it changed package.json.
const { npm_lifecycle_event: event, npm_command: command } = process.env
if (event === 'prepare' && (command === 'pack' || command === 'publish')) process.exit()

/** Kept in dist, because each build removes dist first. */
const digestFile = join(root, 'dist', 'inputs.sha256')

// npm writes this copy of the lockfile when an installation is complete.
if (changedAt('node_modules/.package-lock.json') < changedAt('package-lock.json')) {
  process.stderr.write('Installing the packages (npm ci) …\n')
  const quiet = ['--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=warn', '--update-notifier=false']
  run('npm', ['ci', ...quiet])
}
const digest = digestOf(inputs)
if (!existsSync(digestFile) || readFileSync(digestFile, 'utf8') !== digest) {
  if (!existsSync(join(root, 'dist'))) process.stderr.write('Building (some seconds, the first time) …\n')
  run(process.execPath, ['bin/build.js'])
  writeFileSync(digestFile, digest)
} else {
  // A commit that changes none of the inputs needs no build.
  const versionFile = join(root, 'dist', 'version')
  const line = `${describeBuild()}\n`
  if (!existsSync(versionFile) || readFileSync(versionFile, 'utf8') !== line) writeFileSync(versionFile, line)
}

function changedAt(file) {
  return statSync(join(root, file), { throwIfNoEntry: false })?.mtimeMs ?? 0
}

/** Digests names, contents and Node's version; not times, which a checkout changes. */
function digestOf(paths) {
  const hash = createHash('sha256').update(process.version)
  const files = paths.flatMap(path =>
    statSync(join(root, path)).isDirectory()
      ? readdirSync(join(root, path), { recursive: true, withFileTypes: true })
          .filter(entry => entry.isFile())
          .map(entry => join(entry.parentPath, entry.name))
      : [join(root, path)],
  )
  for (const file of files.sort()) {
    const content = readFileSync(file)
    hash.update(`\0${file.slice(root.length)}\0${content.length}\0`).update(content)
  }
  return hash.digest('hex')
}

function run(command, args) {
  const options = { cwd: root, stdio: ['ignore', 2, 2], shell: process.platform === 'win32' }
  const { status, error } = spawnSync(command, args, options)
  if (error) throw error
  if (status === 0) return
  process.stderr.write(`That failed. To see it by itself: ${command} ${args.join(' ')}\n`)
  process.exit(status ?? 1)
}
