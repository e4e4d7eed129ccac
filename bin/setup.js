// What a fresh clone lacks before its first command: the packages, then the build. Uses Node and npm alone.
import { spawnSync } from 'node:child_process'
import { statSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))

/** When a file last changed, in milliseconds since 1970; 0 where there is none. */
function changedAt(file) {
  return statSync(new URL(`../${file}`, import.meta.url), { throwIfNoEntry: false })?.mtimeMs ?? 0
}

function run(command, args) {
  const { status, error } = spawnSync(command, args, {
    cwd: root,
    stdio: ['ignore', 2, 2],
    shell: process.platform === 'win32',
  })
  if (error) throw error
  if (status === 0) return
  process.stderr.write(`That failed. To see it by itself: ${command} ${args.join(' ')}\n`)
  process.exit(status ?? 1)
}

// npm writes its own copy of the lockfile when an installation is complete.
if (changedAt('node_modules/.package-lock.json') < changedAt('package-lock.json')) {
  process.stderr.write('Installing the packages (npm ci) …\n')
  run('npm', [
    'ci',
    '--ignore-scripts',
    '--no-audit',
    '--no-fund',
    '--loglevel=warn',
    '--update-notifier=false',
  ])
}
if (changedAt('dist/client/main.cjs') === 0)
  process.stderr.write('Building (some seconds, the first time) …\n')
run(process.execPath, ['bin/build.js'])
