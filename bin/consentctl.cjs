#!/usr/bin/env node
// CommonJS, for the smallest start: Node's loader of ES modules alone costs a fifth of what bare Node does.
const {
  existsSync,
  fstatSync,
  mkdirSync,
  openSync,
  closeSync,
  readFileSync,
  renameSync,
  statSync,
  unlink,
  writeFileSync,
  writeSync,
} = require('node:fs')
const { createRequire, wrap } = require('node:module')
const { dirname, isAbsolute, join } = require('node:path')

/** V8 itself does not look whether what it is given is damaged. */
const checksum = data => require('node:zlib').crc32(data)

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
  const { main, keep } = load()
  process.exitCode = 1 // unless it comes to an end: with nothing left to wait for, Node would end with 0
  main(process, () => import('../dist/server/main.js')).then(code => {
    process.exitCode = code
    keep()
  })
}

/**
 * Runs the client's script with what V8 kept of its last compilation, which is half the cost of a start. Node's own
 * cache (from 22.1) keeps no function that is compiled when it is first called, and so gains half as much.
 */
function load() {
  const { Script } = require('node:vm')
  const source = readFileSync(client, 'latin1') // the build writes ASCII alone
  const file = cacheFile(process.env)
  const id = source.slice(-41, -1) // the build ends its script with its digest
  const cachedData = file && readCache(file, id)
  const script = new Script(wrap(source), { filename: client, ...(cachedData && { cachedData }) })
  const module = { exports: {} }
  script.runInThisContext()(module.exports, createRequire(client), module, client, dirname(client))
  const isKept = !file || (cachedData && !script.cachedDataRejected)
  const keep = () => isKept || writeCache(file, id, script)
  return { main: module.exports.main, keep }
}

/**
 * Among the user's caches, for in the folder for everybody's temporary files somebody else could lay code there. Null
 * where there is no such place, for none is made for it, and where the user wants no cache of Node's either.
 */
function cacheFile({ NODE_DISABLE_COMPILE_CACHE, XDG_CACHE_HOME, LOCALAPPDATA, HOME }) {
  if (NODE_DISABLE_COMPILE_CACHE) return null
  const name = `${process.version}-${process.arch}.code`
  if (process.platform === 'win32')
    return LOCALAPPDATA ? join(LOCALAPPDATA, 'consentctl', 'cache', name) : null
  if (XDG_CACHE_HOME && isAbsolute(XDG_CACHE_HOME)) return join(XDG_CACHE_HOME, 'consentctl', name)
  return isMine(HOME) ? join(HOME, '.cache', 'consentctl', name) : null
}

/** Whether a home folder is the user's own: root leaves those of others alone. */
function isMine(home) {
  const found = home && statSync(home, { throwIfNoEntry: false })
  return Boolean(found) && found.uid === process.getuid()
}

/** What was kept of the script with this digest, if nobody else could have written it and no byte has changed. */
function readCache(file, id) {
  let descriptor
  try {
    descriptor = openSync(file)
    const { uid, mode } = fstatSync(descriptor)
    if (process.getuid && (uid !== process.getuid() || (mode & 0o022) !== 0)) return null
    const content = readFileSync(descriptor)
    const data = content.subarray(44)
    const isWhole = content.toString('latin1', 0, 40) === id && content.readUInt32LE(40) === checksum(data)
    return isWhole ? data : null
  } catch {
    return null // there is none yet
  } finally {
    if (descriptor !== undefined) closeSync(descriptor)
  }
}

function writeCache(file, id, script) {
  const draft = `${file}.${process.pid}.${Date.now()}`
  try {
    const data = script.createCachedData()
    const sum = Buffer.alloc(4)
    sum.writeUInt32LE(checksum(data))
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
    writeFileSync(draft, Buffer.concat([Buffer.from(id, 'latin1'), sum, data]), { mode: 0o600, flag: 'wx' })
    renameSync(draft, file)
  } catch {
    unlink(draft, () => {}) // a start without it is slower, and no worse
  }
}
