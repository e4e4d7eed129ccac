// Builds the dashboard: HTML, script, style sheet and icon, each also compressed. All paths but that of the HTML have a digest.
import { createHash } from 'node:crypto'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { brotliCompressSync, gzipSync } from 'node:zlib'
import { build } from 'esbuild'
import { shared } from './bundle.js'

const root = shared.absWorkingDir
const page = join(root, 'server', 'dashboard', 'page')

/**
 * Replaces contract modules that have zod schemas by their plain data (methods, paths, constants), because zod alone would
 * exceed the size of the page, and the service validates. Importing anything else from them fails the build.
 */
function contractFacts(folder) {
  return {
    name: 'contract facts',
    setup({ onLoad, onStart }) {
      onStart(async () => {
        await build({
          ...shared,
          entryPoints: readdirSync(join(root, 'src', 'contract'))
            .filter(name => name.endsWith('.ts'))
            .map(name => `src/contract/${name}`),
          format: 'esm',
          splitting: true,
          outdir: folder,
          outExtension: { '.js': '.mjs' },
          packages: 'external',
        })
      })
      onLoad({ filter: /[\\/]src[\\/]contract[\\/][\w-]+\.ts$/ }, async ({ path }) => {
        if (!/^import (?!type ).* from '(zod|\.\/endpoint\.ts)'/m.test(readFileSync(path, 'utf8'))) return undefined
        const name = path.replace(/^.*[\\/](.*)\.ts$/, '$1')
        const exported = await import(pathToFileURL(join(folder, `${name}.mjs`)).href)
        const facts = Object.entries(exported).flatMap(([key, value]) => {
          const fact = toFact(value)
          return fact === undefined ? [] : `export const ${key} = ${JSON.stringify(fact)}`
        })
        return { contents: facts.join('\n'), loader: 'js' }
      })
      // The command line's copy of these endpoints can read schemas; the page reads none.
      onLoad({ filter: /[\\/]src[\\/]client[\\/]consents\.ts$/ }, () => ({
        contents: "export { consents } from '../contract/consents.ts'",
        loader: 'ts',
      }))
    },
  }
}

function toFact(value) {
  if (['string', 'number', 'boolean'].includes(typeof value)) return value
  if (Array.isArray(value)) return value.every(each => typeof each === 'string') ? value : undefined
  if (typeof value !== 'object' || value === null || '_zod' in value) return undefined
  if ('method' in value && 'path' in value) {
    const { method, path, access, roles, media } = value
    // The page tests for 'anyone' only.
    return { method, path, ...(access === 'anyone' && { access }), ...(roles && { roles }), ...(media && { media }) }
  }
  const entries = Object.entries(value).map(([key, each]) => [key, toFact(each)])
  return entries.every(([, each]) => each !== undefined) ? Object.fromEntries(entries) : undefined
}

/** Writes the page's files and `files.json`, which lists their paths and types. */
export async function buildDashboard(outdir) {
  mkdirSync(outdir, { recursive: true })
  mkdirSync(join(root, 'node_modules', '.cache'), { recursive: true })
  const folder = mkdtempSync(join(root, 'node_modules', '.cache', 'contract-')) // inside the repository, so that zod resolves
  const options = {
    ...shared,
    platform: 'browser',
    target: 'es2022',
    write: false,
    charset: 'utf8',
    legalComments: 'none',
  }
  try {
    const [script, style] = await Promise.all([
      build({
        ...options,
        entryPoints: [join(page, 'main.tsx')],
        format: 'esm',
        jsx: 'transform',
        jsxFactory: 'h',
        jsxFragment: 'Fragment',
        inject: [join(page, 'jsx.ts')],
        tsconfigRaw: {},
        minify: true,
        plugins: [contractFacts(folder)],
      }),
      build({ ...options, entryPoints: [join(page, 'style.css')], minify: true }),
    ])
    const files = {}
    const add = (name, type, bytes) => {
      const digest = createHash('sha256').update(bytes).digest()
      const path = `dashboard/${name.replace('.', `-${digest.toString('hex').slice(0, 16)}.`)}`
      files[path] = { file: name, type }
      write(outdir, name, bytes)
      return { path, integrity: `sha256-${digest.toString('base64')}` }
    }
    const js = add('app.js', 'text/javascript; charset=utf-8', script.outputFiles[0].contents)
    const css = add('app.css', 'text/css; charset=utf-8', style.outputFiles[0].contents)
    const icon = add('icon.svg', 'image/svg+xml', readFileSync(join(page, 'icon.svg')))
    const html = readFileSync(join(page, 'index.html'), 'utf8')
      .replace('app.js"', `${js.path}" integrity="${js.integrity}"`)
      .replace('app.css"', `${css.path}" integrity="${css.integrity}"`)
      .replace('icon.svg', icon.path)
    write(outdir, 'index.html', html)
    writeFileSync(join(outdir, 'files.json'), JSON.stringify({ script: js.integrity, files }))
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function write(outdir, name, content) {
  writeFileSync(join(outdir, name), content)
  writeFileSync(join(outdir, `${name}.gz`), gzipSync(content, { level: 9 }))
  writeFileSync(join(outdir, `${name}.br`), brotliCompressSync(content))
}
