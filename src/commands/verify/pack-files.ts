import { readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { type CliError, dataError } from '../../errors/errors.ts'
import { listFile, type PackFiles } from '../../evidence/pack.ts'
import { unreadable } from '../../io/input.ts'
import { readTar } from '../../io/tar.ts'

const maxMiB = 64

export type Packs = ReadonlyMap<string, PackFiles>

export async function isPackPath(path: string): Promise<boolean> {
  if (path === '-') return false
  const found = await stat(path).catch(() => null)
  return found?.isDirectory() === true || (found !== null && path.endsWith('.tar'))
}

/** @throws CliError */
export async function readPacks(path: string): Promise<Packs> {
  const isArchive = path.endsWith('.tar') && !(await stat(path)).isDirectory()
  const files = await (isArchive ? readFile(path).then(bytes => readPackArchive(bytes, path)) : readFolder(path)).catch(
    (error: unknown) => {
      throw error instanceof Error && 'syscall' in error ? unreadable(path, error) : error
    },
  )
  const base = path.replace(/(?<=.)\/+$/, '')
  if (isPack([...files.keys()])) return new Map([[base, files]])
  const packs = new Map<string, Map<string, Buffer>>()
  for (const [name, bytes] of files) {
    const [folder = '', ...rest] = name.split('/')
    const inside = rest.join('/')
    const shown = `${base}/${folder}`
    packs.set(shown, (packs.get(shown) ?? new Map()).set(inside, bytes))
  }
  const other = [...packs].find(([, inside]) => !isPack([...inside.keys()]))
  if (packs.size === 0 || other) throw notPack(other?.[0] ?? base)
  return packs
}

/** @throws CliError for a link or a special file */
async function readFolder(path: string): Promise<Map<string, Buffer>> {
  const files = new Map<string, Buffer>()
  const walk = async (folder: string, prefix: string) => {
    for (const entry of await readdir(folder, { withFileTypes: true })) {
      const inside = join(folder, entry.name)
      if (entry.isDirectory()) await walk(inside, `${prefix}${entry.name}/`)
      else if (entry.isFile()) files.set(prefix + entry.name, await readBounded(inside))
      else throw dataError(`${inside} is neither a file nor a folder`)
    }
  }
  await requirePacks(path)
  await walk(path, '')
  return files
}

/** Prevents another folder, such as a home folder, from being read into memory. */
async function requirePacks(path: string): Promise<void> {
  const names = await readdir(path)
  if (isPack(names)) return
  for (const name of names) {
    const folder = join(path, name)
    if (!isPack(await readdir(folder).catch(() => []))) throw notPack(folder)
  }
}

function isPack(names: readonly string[]): boolean {
  return names.includes(listFile)
}

function notPack(path: string): CliError {
  return dataError(`${path} is not an evidence pack: it has no ${listFile}`)
}

async function readBounded(path: string): Promise<Buffer> {
  const { size } = await stat(path)
  if (size > maxMiB * 2 ** 20)
    throw dataError(`${path} is larger than ${maxMiB} MiB, the limit for files of an evidence pack`)
  return await readFile(path)
}

/** Returns the files by name within the archive's only folder. @throws CliError that starts with `name` */
export function readPackArchive(bytes: Buffer, name: string): Map<string, Buffer> {
  try {
    return withoutFolder(readTar(bytes))
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
    throw dataError(`${name} is not an archive of an evidence pack: it ${error.message}`)
  }
}

function withoutFolder(files: Map<string, Buffer>): Map<string, Buffer> {
  const names = [...files.keys()]
  if (isPack(names)) return files
  const folder = `${names[0]?.split('/', 1)[0]}/`
  const outside = names.find(name => !name.startsWith(folder))
  if (outside !== undefined) throw new SyntaxError(`has ${outside} outside of ${folder}`)
  return new Map([...files].map(([name, bytes]) => [name.slice(folder.length), bytes]))
}
