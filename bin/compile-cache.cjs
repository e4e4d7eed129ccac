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

/** The build puts the hexadecimal digest at the end of the script. */
const digestLength = 40

/** That digest, a checksum of four bytes, V8's data. */
const headerLength = digestLength + 4

/**
 * Runs a script that the build wrapped in a CommonJS function, and returns its exports. Its relative paths are resolved
 * from this folder: `createRequire` would load node:module. `keep` writes the cache: call it once the functions needed
 * are compiled.
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
 * A path among the user's caches: others could place code in a shared temporary folder. Null without one, or if the
 * user disables Node's cache.
 */
function cacheFile({ NODE_DISABLE_COMPILE_CACHE, XDG_CACHE_HOME, LOCALAPPDATA, HOME }) {
  if (NODE_DISABLE_COMPILE_CACHE) return null
  const name = `${process.version}-${process.arch}.code`
  if (process.platform === 'win32') return LOCALAPPDATA ? join(LOCALAPPDATA, 'consentctl', 'cache', name) : null
  if (XDG_CACHE_HOME && isAbsolute(XDG_CACHE_HOME)) return join(XDG_CACHE_HOME, 'consentctl', name)
  return isOwnFolder(HOME) ? join(HOME, '.cache', 'consentctl', name) : null
}

/** False for another user's home folder, in which root must not create files. */
function isOwnFolder(home) {
  const found = home && statSync(home, { throwIfNoEntry: false })
  return Boolean(found) && found.uid === process.getuid()
}

/** Returns nothing that others could have written, or that is damaged. */
function readCache(file, digest) {
  let descriptor
  try {
    descriptor = openSync(file)
    const { uid, mode } = fstatSync(descriptor)
    if (process.getuid && (uid !== process.getuid() || (mode & 0o022) !== 0)) return null
    const content = readFileSync(descriptor)
    const data = content.subarray(headerLength)
    const isValid =
      content.toString('latin1', 0, digestLength) === digest && content.readUInt32LE(digestLength) === checksum(data)
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
    const sum = Buffer.alloc(4)
    sum.writeUInt32LE(checksum(data))
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
    writeFileSync(draft, Buffer.concat([Buffer.from(digest, 'latin1'), sum, data]), {
      mode: 0o600,
      flag: 'wx',
    })
    renameSync(draft, file)
  } catch {
    unlink(draft, () => {}) // a start without it is only slower
  }
}

/** V8 does not check its data for damage. `zlib.crc32` would load node:zlib, which costs more than this. */
function checksum(data) {
  const words = new Uint32Array(data.buffer, data.byteOffset, data.byteLength >>> 2)
  let sum = data.byteLength
  for (let index = 0; index < words.length; index += 1) sum = (Math.imul(sum, 31) + words[index]) | 0
  for (let index = words.length * 4; index < data.byteLength; index += 1) sum = (Math.imul(sum, 31) + data[index]) | 0
  return sum >>> 0
}

module.exports = { runCached }
