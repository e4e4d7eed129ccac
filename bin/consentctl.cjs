#!/usr/bin/env node
// CommonJS, because Node's ES module loader costs a fifth of a bare start.
const { existsSync, readFileSync, writeSync } = require('node:fs')
const { join } = require('node:path')

const client = join(__dirname, '../dist/client/main.cjs')

/** Time for what was written last to be read. */
const exitTimeoutMs = 1000

if (!printVersion()) run()

/** Answers `--version` before anything is loaded. Returns false for other arguments or if stdout fails. */
function printVersion() {
  const [word, ...more] = process.argv.slice(2)
  if ((word !== '--version' && word !== '-V') || more.length > 0) return false
  const { version } = JSON.parse(readFileSync(join(__dirname, '../package.json'), 'utf8'))
  try {
    writeSync(1, `${version}\n`)
    return true
  } catch {
    return false // the program handles a closed pipe and a full disk
  }
}

function run() {
  if (!existsSync(client)) {
    process.stderr.write('error: consentctl is not built yet\ntry: npm run setup\n')
    process.exitCode = 1
    return
  }
  const { runCached } = require('./compile-cache.cjs')
  const { exports: program, keep } = runCached(client)
  process.exitCode = 1 // if nothing is left to wait for, Node would exit with 0
  program
    .main(process, () => import('../dist/server/main.js'))
    .then(code => {
      process.exitCode = code
      keep()
      // A pipe that nobody reads would keep the process.
      setTimeout(() => process.exit(), exitTimeoutMs).unref()
    })
}
