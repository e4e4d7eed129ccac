// Bundles the client with its libraries, split so that a command loads only what it uses, and the server beside
// it with its libraries left where npm put them (PGlite finds its WebAssembly next to its own files).
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

const root = fileURLToPath(new URL('..', import.meta.url))

const shared = {
  absWorkingDir: root,
  bundle: true,
  splitting: true,
  format: 'esm',
  platform: 'node',
  target: 'node20.19',
  outdir: 'dist',
  outbase: '.',
  chunkNames: 'chunks/[name]-[hash]',
  loader: { '.sql': 'text' },
  legalComments: 'external',
  logLevel: 'warning',
}

rmSync(new URL('../dist', import.meta.url), { recursive: true, force: true })
await build({
  ...shared,
  entryPoints: ['src/main.ts', 'src/reference/files.ts'],
  minify: true,
  keepNames: true,
  // CommonJS libraries inside an ESM bundle still call require for Node's own modules.
  banner: { js: "import{createRequire}from'node:module';const require=createRequire(import.meta.url);" },
})
await build({
  ...shared,
  entryPoints: ['server/main.ts', 'server/db/embedded-worker.ts'],
  packages: 'external',
})

const { generate } = await import(new URL('../dist/src/reference/files.js', import.meta.url).href)
const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'))
const { man } = await generate(version)
mkdirSync(new URL('../dist/man', import.meta.url))
for (const [name, page] of Object.entries(man)) {
  writeFileSync(new URL(`../dist/man/${name}`, import.meta.url), page)
}
