import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import type { StaticFile } from '../http/static-file.ts'

interface PageFiles {
  readonly html: StaticFile
  /** The script's digest as a CSP source: `sha256-…`. */
  readonly script: string
  /** Keys are paths without a leading slash. */
  readonly assets: ReadonlyMap<string, StaticFile>
}

interface Listing {
  readonly script: string
  readonly files: Readonly<Record<string, { readonly file: string; readonly type: string }>>
}

/** The first exists in a build; the second is for a run from source. */
const folders = ['./built/', '../../dist/server/dashboard/built/'].map(path => new URL(path, import.meta.url))

/** Reads the page's files into memory. @throws Error if the dashboard is not built */
export async function readPageFiles(): Promise<PageFiles> {
  const folder = folders.find(url => existsSync(url))
  if (!folder) throw new Error('the dashboard is not built: npm run build')
  const read = async (file: string, type: string): Promise<StaticFile> => {
    const load = (ending: string) => readFile(new URL(`${file}${ending}`, folder))
    const [bytes, gzip, brotli] = await Promise.all([load(''), load('.gz'), load('.br')])
    return { type, bytes, gzip, brotli }
  }
  const { script, files } = JSON.parse(await readFile(new URL('files.json', folder), 'utf8')) as Listing
  const assets = Object.entries(files).map(async ([path, { file, type }]) => [path, await read(file, type)] as const)
  return {
    html: await read('index.html', 'text/html; charset=utf-8'),
    script,
    assets: new Map(await Promise.all(assets)),
  }
}
