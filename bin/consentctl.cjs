#!/usr/bin/env node
// CommonJS, for the smallest start: Node's loader of ES modules alone costs a fifth of what bare Node does.
const { existsSync, readFileSync, writeSync } = require('node:fs')
const { enableCompileCache } = require('node:module')
const { join } = require('node:path')

const client = join(__dirname, '../dist/client/main.cjs')

if (!isToldVersion()) run()

/** Answers `--version` before anything is loaded; false where that was not asked, or where stdout does not take it. */
function isToldVersion() {
  const [word, ...more] = process.argv.slice(2)
  if ((word !== '--version' && word !== '-V') || more.length > 0) return false
  const { version } = JSON.parse(readFileSync(join(__dirname, '../package.json'), 'utf8'))
  try {
    writeSync(1, `${version}\n`)
    return true
  } catch {
    return false // the program knows what to do without a reader, or with a full disk
  }
}

function run() {
  if (!existsSync(client)) {
    process.stderr.write('error: consentctl is not built yet\ntry: npm run setup\n')
    process.exitCode = 1
    return
  }
  const folder = cacheFolder(process.env)
  if (folder) enableCompileCache?.(folder) // from Node 22.1; where it cannot write, it does without
  const { main } = require(client)
  process.exitCode = 1 // unless it comes to an end: with nothing left to wait for, Node would end with 0
  main(process, () => import('../dist/server/main.js')).then(code => {
    process.exitCode = code
  })
}

/**
 * Where Node keeps the compiled code of the next start: among the user's caches, for in the folder for everybody's
 * temporary files somebody else could lay code there. Null where there is no such place; none is made for it.
 */
function cacheFolder({ XDG_CACHE_HOME, LOCALAPPDATA, HOME }) {
  if (process.platform === 'win32') return LOCALAPPDATA ? join(LOCALAPPDATA, 'consentctl', 'cache') : null
  if (XDG_CACHE_HOME) return join(XDG_CACHE_HOME, 'consentctl')
  return HOME && existsSync(HOME) ? join(HOME, '.cache', 'consentctl') : null
}
