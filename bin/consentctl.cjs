#!/usr/bin/env node
// CommonJS, because Node's ES module loader costs a fifth of a bare start. One file, because
// a second one costs a millisecond.
const {
  closeSync,
  existsSync,
  fstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  statSync,
  unlink,
  writeFileSync,
  writeSync,
} = require('node:fs')
const { dirname, isAbsolute, join } = require('node:path')

const client = join(__dirname, '../dist/client/main.cjs')

/** Time for the reader to consume the last output. */
const exitTimeoutMs = 1000

/** Hexadecimal digits, appended by the build. */
const digestLength = 40

if (!printVersion()) run()

/** Prints the version before anything is loaded. Returns false for other arguments, without a build, or if stdout fails. */
function printVersion() {
  const [word, ...more] = process.argv.slice(2)
  if ((word !== '--version' && word !== '-V') || more.length > 0) return false
  try {
    writeSync(1, describeBuild())
    return true
  } catch {
    return false // the program handles a closed pipe and a full disk
  }
}

function describeBuild() {
  return readFileSync(join(__dirname, '../dist/version'))
}

function run() {
  if (!existsSync(client)) {
    process.stderr.write('error: consentctl is not built yet\ntry: npm run setup\n')
    process.exitCode = 1
    return
  }
  const { exports: program, keep } = runCached(client)
  process.exitCode = 1 // without pending work Node would exit with 0
  program
    .main(process, () => import('../dist/server/main.js'), keep, describeBuild)
    .then(code => {
      process.exitCode = code
      // A pipe that nobody reads would keep the process alive.
      setTimeout(() => process.exit(), exitTimeoutMs).unref()
    })
}

/**
 * Runs a script that the build wrapped in a CommonJS function, with V8's compiled code from an earlier start, and
 * returns its exports. CPU of `consentctl get` on Node 20 to 26, in multiples of a bare node:http GET: 1.6 with this
 * cache, 2.5 to 2.7 without it. module.enableCompileCache stores no function that is compiled on its first call.
 *
 * Relative paths resolve from this folder, because `createRequire` would load node:module. Call `keep`, which writes
 * the cache, once the needed functions are compiled: those of --help or of a local command would leave `get` at 1.8.
 */
function runCached(filename) {
  const { Script } = require('node:vm')
  const source = readFileSync(filename, 'latin1') // the build writes ASCII only
  const file = cacheFile(process.env)
  const digest = source.slice(-digestLength - 1, -1)
  const cachedData = file && readCache(file, digest)
  const script = new Script(source, { filename, ...(cachedData && { cachedData }) })
  const module = { exports: {} }
  script.runInThisContext()(module.exports, require, module, filename, dirname(filename))
  const isKept = !file || (cachedData && !script.cachedDataRejected)
  return { exports: module.exports, keep: () => isKept || writeCache(file, digest, script) }
}

/**
 * Returns a path in the user's cache folder, because others could place code in a shared temporary one. Null without such a
 * folder, or if the user disables Node's cache.
 */
function cacheFile({ NODE_DISABLE_COMPILE_CACHE, XDG_CACHE_HOME, LOCALAPPDATA, HOME }) {
  if (NODE_DISABLE_COMPILE_CACHE) return null
  const name = `${process.version}-${process.arch}.code`
  if (process.platform === 'win32') return LOCALAPPDATA ? join(LOCALAPPDATA, 'consentctl', 'cache', name) : null
  if (XDG_CACHE_HOME && isAbsolute(XDG_CACHE_HOME)) return join(XDG_CACHE_HOME, 'consentctl', name)
  return isOwnFolder(HOME) ? join(HOME, '.cache', 'consentctl', name) : null
}

/** Root must not create files in another user's home folder. */
function isOwnFolder(home) {
  try {
    return Boolean(home) && statSync(home).uid === process.getuid()
  } catch {
    return false // missing, or below a folder of somebody else
  }
}

/**
 * Returns null for data that is damaged or that others could have written. V8 does not check its data, so the file holds it
 * twice: comparing takes a tenth of the time of a checksum in JavaScript, and loading Node's checksums takes longer.
 */
function readCache(file, digest) {
  let descriptor
  try {
    descriptor = openSync(file)
    const { uid, mode } = fstatSync(descriptor)
    if (process.getuid && (uid !== process.getuid() || (mode & 0o022) !== 0)) return null
    const content = readFileSync(descriptor)
    const middle = (content.length + digestLength) >>> 1
    const data = content.subarray(digestLength, middle)
    const isValid =
      data.length > 0 && content.toString('latin1', 0, digestLength) === digest && data.equals(content.subarray(middle))
    return isValid ? data : null
  } catch {
    return null
  } finally {
    if (descriptor !== undefined) closeSync(descriptor)
  }
}

function writeCache(file, digest, script) {
  const draft = `${file}.${process.pid}.${Date.now()}`
  try {
    const data = script.createCachedData()
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
    writeFileSync(draft, Buffer.concat([Buffer.from(digest, 'latin1'), data, data]), {
      mode: 0o600,
      flag: 'wx',
    })
    renameSync(draft, file)
  } catch {
    unlink(draft, () => {}) // a start without the cache is only slower
  }
}
