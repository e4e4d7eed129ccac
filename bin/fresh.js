// An empty embedded database, as PGlite's initdb makes it, packed: to unpack it takes a first start a third of the time.
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { PGlite } from '@electric-sql/pglite'
import { root } from './releases.js'

const { version } = JSON.parse(
  readFileSync(new URL('../package.json', import.meta.resolve('@electric-sql/pglite')), 'utf8'),
)

/** The bytes of its .tar.gz; made once for each version of PGlite, and kept in node_modules/.cache. */
export async function freshDatabase() {
  const folder = join(root, 'node_modules', '.cache', 'embedded')
  const file = join(folder, `${version}.tar.gz`)
  if (!existsSync(file)) {
    const db = await PGlite.create()
    const packed = Buffer.from(await (await db.dumpDataDir('gzip')).arrayBuffer())
    await db.close()
    mkdirSync(folder, { recursive: true })
    writeFileSync(`${file}.${process.pid}`, packed)
    renameSync(`${file}.${process.pid}`, file)
  }
  return readFileSync(file)
}
