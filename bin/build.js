// Bundles the client without rarely used libraries, and the server without any: PGlite finds its WebAssembly next to
// its own files.
import { createHash } from 'node:crypto'
import { appendFileSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { build } from 'esbuild'
import { client, shared } from './bundle.js'
import { buildDashboard } from './dashboard.js'
import { emptyDatabase } from './empty-database.js'
import { describeBuild } from './version.js'

/** Separate files, because reading them at each start would cost more than the rest. */
const rarelyUsed = ['cli-table3', 'conf', 'csv-parse/sync', 'diff', 'nanotar', 'ora', 'string-width', 'undici', 'yauzl']

const used = new Set()
const apart = {
  name: 'apart',
  setup({ onResolve }) {
    onResolve({ filter: new RegExp(`^(${rarelyUsed.join('|')})$`) }, ({ path }) => {
      used.add(path)
      return { path: `../dist/client/${path}.cjs`, external: true } // from bin/consentctl.cjs
    })
  },
}

const dist = join(client.absWorkingDir, 'dist')
/** One draft per process, because another may be building or running dist. */
const draft = join(client.absWorkingDir, `dist.${process.pid}`)
process.on('exit', () => rmSync(draft, { recursive: true, force: true }))
await build({
  ...client,
  outdir: join(draft, 'client'),
  plugins: [...client.plugins, apart],
  // Node's CommonJS wrapper: adding it at each start would copy the text.
  banner: { js: '(function (exports, require, module, __filename, __dirname) {' },
  footer: { js: '})' },
})
const script = join(draft, 'client', 'main.cjs')
// The digest ties the compile cache to this script.
appendFileSync(script, `//${createHash('sha1').update(readFileSync(script)).digest('hex')}\n`)
await Promise.all(
  [...used].map(name =>
    build({
      ...client,
      keepNames: true, // some compare classes by name
      entryPoints: undefined,
      // The default import of a CommonJS module is its whole exports object.
      stdin: {
        contents: `const all = require('${name}'); module.exports = all.default ?? all`,
        resolveDir: client.absWorkingDir,
      },
      outfile: join(draft, 'client', `${name}.cjs`),
    }),
  ),
)
await build({
  ...shared,
  entryPoints: [
    'server/main.ts',
    'server/watchdog-worker.ts',
    'server/db/embedded-worker.ts',
    'server/dashboard/files.ts',
  ],
  format: 'esm',
  splitting: true,
  outdir: draft,
  outbase: '.',
  chunkNames: 'chunks/[name]-[hash]',
  packages: 'external',
})
writeFileSync(join(draft, 'server', 'db', 'embedded.tar.gz'), await emptyDatabase())
await buildDashboard(join(draft, 'server', 'dashboard', 'built'))

await build({
  ...client,
  entryPoints: undefined,
  stdin: {
    contents: `
      import { generate } from './src/docs/generate.ts'
      import { describeCommands } from './src/program.ts'
      export const generated = async version => generate(await describeCommands(), version)`,
    resolveDir: client.absWorkingDir,
  },
  outfile: join(draft, 'reference.cjs'),
  minify: false,
})
const require = createRequire(import.meta.url)
const { man } = await require(join(draft, 'reference.cjs')).generated(require('../package.json').version)
mkdirSync(join(draft, 'man'))
for (const [name, page] of Object.entries(man)) writeFileSync(join(draft, 'man', name), page)
writeFileSync(join(draft, 'version'), `${describeBuild()}\n`)
replace()

function replace() {
  const old = `${draft}.old`
  for (let attempt = 1; ; attempt += 1) {
    try {
      if (existsSync(dist)) renameSync(dist, old)
      return renameSync(draft, dist)
    } catch (error) {
      if (attempt === 10) throw error // otherwise another build was first
    } finally {
      rmSync(old, { recursive: true, force: true })
    }
  }
}
