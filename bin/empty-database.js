// Packs an empty embedded database for first starts, because creating one takes seconds.
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { PGlite } from '@electric-sql/pglite'
import { createTar } from 'nanotar'

const library = new URL('../package.json', import.meta.resolve('@electric-sql/pglite'))
const { version } = JSON.parse(readFileSync(library, 'utf8'))

/** Returns a .tar.gz, cached for each version of PGlite. */
export async function emptyDatabase() {
  const folder = fileURLToPath(new URL('../node_modules/.cache/embedded/', import.meta.url))
  const file = join(folder, `${version}.tar.gz`)
  if (!existsSync(file)) {
    mkdirSync(folder, { recursive: true })
    const unfinished = `${file}.${process.pid}`
    writeFileSync(unfinished, await pack())
    renameSync(unfinished, file)
  }
  return readFileSync(file)
}

async function pack() {
  const folder = mkdtempSync(join(tmpdir(), 'consentctl-empty-'))
  try {
    const db = await PGlite.create(join(folder, 'data'))
    await db.close()
    return gzipSync(createTar(entriesOf(join(folder, 'data'))))
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function entriesOf(folder) {
  const all = readdirSync(folder, { recursive: true, withFileTypes: true })
    .map(entry => ({ entry, path: join(entry.parentPath, entry.name) }))
    .filter(({ entry }) => entry.name !== 'postmaster.pid') // names a process that has ended
  return all
    .map(({ entry, path }) => {
      const name = relative(folder, path).split(sep).join('/')
      return entry.isDirectory() ? { name: `${name}/` } : { name, data: readFileSync(path) }
    })
    .sort((one, other) => (one.name < other.name ? -1 : 1))
}
