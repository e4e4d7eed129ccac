// Runs a script with V8's compiled code from an earlier start. CPU of `consentctl get` on Node 24, in multiples of a
// bare node:http GET: 1.9 with this cache, 2.2 without it or with module.enableCompileCache, which holds no function
// that is compiled at its first call; 3.0 with one script a command. On Node 20 it makes no difference (2.0).
const {
  closeSync,
  fstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  statSync,
  unlink,
  writeFileSync,
} = require('node:fs')
const { dirname, isAbsolute, join } = require('node:path')
const { Script } = require('node:vm')

/** Hexadecimal digits that the build appends to the script. */
const digestLength = 40

/**
 * Runs a script that the build wrapped in a CommonJS function, and returns its exports. Relative paths resolve from
 * this folder, because `createRequire` would load node:module. Call `keep`, which writes the cache, once the needed
 * functions are compiled.
 */
function runCached(filename) {
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
 * Returns a path among the user's caches: others could place code in a shared temporary folder. Null without such a
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
  const found = home && statSync(home, { throwIfNoEntry: false })
  return Boolean(found) && found.uid === process.getuid()
}

/**
 * Returns null for data that others could have written or that is damaged. V8 does not check its data, so the file
 * has it twice: comparing takes a tenth of the time of a checksum in JavaScript, and loading Node's checksums takes
 * longer.
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

module.exports = { runCached }
