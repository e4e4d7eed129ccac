import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import type { StaticFile } from '../http/static-file.ts'

export interface PageFiles {
  readonly html: StaticFile
  /** The script's digest as a CSP source: `sha256-…`. */
  readonly script: string
  /** Keys are paths without a leading slash. */
  readonly assets: ReadonlyMap<string, StaticFile>
}

/** The first path exists in a build, the second when run from source. */
const folders = ['./built/', '../../dist/server/dashboard/built/'].map(path => new URL(path, import.meta.url))

/** @throws Error if the dashboard is not built */
export async function readPageFiles(): Promise<PageFiles> {
  const folder = folders.find(url => existsSync(url))
  if (!folder) throw new Error('the dashboard is not built: npm run build')
  const load = (file: string) => readFile(new URL(file, folder))
  const read = async (file: string, type: string): Promise<StaticFile> => {
    const [bytes, gzip, brotli] = await Promise.all([load(file), load(`${file}.gz`), load(`${file}.br`)])
    return { type, bytes, gzip, brotli }
  }
  const { script, files } = JSON.parse(String(await load('files.json')))
  const assets = new Map<string, StaticFile>()
  for (const [path, { file, type }] of Object.entries<{ file: string; type: string }>(files))
    assets.set(path, await read(file, type))
  return { html: await read('index.html', 'text/html; charset=utf-8'), script, assets }
}
