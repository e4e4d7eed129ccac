// Bundles the product with its edges replaced: clocks, timers, randomness, sockets, disks, and the modules of queries.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { build } from 'esbuild'
import { shared } from '../../bin/bundle.js'

const here = fileURLToPath(new URL('.', import.meta.url))
const root = shared.absWorkingDir

/** Which file stands for a module, for importers in some folders. */
const edges = [
  { of: /^(node:)?timers\/promises$/, by: 'edges/timers-promises.ts' },
  { of: /^(node:)?http$/, by: 'edges/http.ts' },
  { of: /^(node:)?net$/, by: 'network.ts' },
  { of: /^(node:)?crypto$/, by: 'edges/crypto.ts' },
  { of: /^(node:)?perf_hooks$/, by: 'edges/globals.ts' },
  {
    of: /^node:(fs|fs\/promises|os|v8)$/,
    by: 'disk.ts',
    for: /\/src\/((jobs|io)\/|commands\/consents\/bulk\/[^/]+$)/,
  },
  {
    of: /\/(held-|insert-|read-)?queries\.ts$/,
    by: 'edges/queries.ts',
    for: /\/server\/((audit|auth|consents|events|notices|quota)\/|evidence\/log\.ts$)/,
  },
  { of: /^fastify$/, by: 'edges/fastify.ts' },
  { of: /^\.\/routes\.ts$/, by: 'edges/routes.ts', for: /\/server\/app\.ts$/ },
]

/** Packages that no schedule uses. */
const unused = /^(@fastify\/rate-limit|maxmind|pino|undici)$/

/** Modules of which Node's, too, can be imported as a whole. */
const withDefault = new Set([join(here, 'network.ts'), join(here, 'edges/crypto.ts')])

/** Small limits, so that small schedules reach them. */
const limits = [
  { file: 'src/client/pages.ts', find: 'largestPage = 100', replace: 'largestPage = 3' },
  { file: 'src/commands/consents/bulk/creates.ts', find: 'minLinesToDetect = 100', replace: 'minLinesToDetect = 4' },
  { file: 'src/commands/consents/bulk/creates.ts', find: '? batchLimits.rows : 1', replace: '? 3 : 1' },
  { file: 'server/cache.ts', find: 'maxEntries = 10_000', replace: 'maxEntries = 10' },
  { file: 'server/quota/quota.ts', find: 'maxKnownLimits = 10_000', replace: 'maxKnownLimits = 10' },
  { file: 'server/evidence/log.ts', find: 'entriesPerPlacing = 2000', replace: 'entriesPerPlacing = 3' },
  { file: 'src/cli/follow.ts', find: 'pageSize = 100', replace: 'pageSize = 3' },
  { file: 'server/consents/create.ts', find: 'itemsPerTurn = 100', replace: 'itemsPerTurn = 2' },
]

/** Variables of modules: each process has its own, or each schedule. */
const variables = [
  {
    file: 'server/ids.ts',
    add: 'ownVariable(() => [msecs, seq], value => { [msecs, seq] = value })',
  },
  { file: 'src/evidence/bytes.ts', add: 'sharedVariable(() => { used = pool.length })' },
]

/** Applies changes to the text of a file. @throws Error if one does not apply exactly once */
function change(file, text, changes) {
  for (const { find, replace } of changes) {
    if (text.split(find).length !== 2) throw new Error(`"${find}" is not once in ${file}`)
    text = text.replace(find, () => replace)
  }
  const own = variables.filter(variable => variable.file === file)
  const lines = own.map(({ add }) => `import { ownVariable, sharedVariable } from '${here}scheduler.ts'\n${add}\n`)
  return text + lines.join('')
}

const simulated = faults => ({
  name: 'simulated',
  setup({ onResolve, onLoad, onEnd }) {
    const left = new Set([...limits, ...variables, ...faults].map(({ file }) => file))
    onResolve({ filter: unused }, ({ path }) => ({ path, namespace: 'unused' }))
    onLoad({ filter: /./, namespace: 'unused' }, () => ({ contents: 'module.exports = () => {}' }))
    onResolve({ filter: /./ }, ({ path, importer }) => {
      if (importer.startsWith(`${root}test/`)) {
        if (/^node:(http|net|crypto)$/.test(path)) return { path, external: true }
      }
      const edge = edges.find(({ of, for: importers = /./ }) => of.test(path) && importers.test(importer))
      return edge ? { path: join(here, edge.by) } : undefined
    })
    onLoad({ filter: /\.ts$/ }, ({ path }) => {
      if (withDefault.has(path)) {
        const text = readFileSync(path, 'utf8')
        return { contents: `${text}export * as default from '${path}'\n`, loader: 'ts' }
      }
      const file = path.slice(root.length)
      if (!left.delete(file)) return undefined
      const changes = [...limits, ...faults].filter(each => each.file === file)
      return { contents: change(file, readFileSync(path, 'utf8'), changes), loader: 'ts' }
    })
    onEnd(() => {
      if (left.size > 0) throw new Error(`not in the bundle: ${[...left].join(', ')}`)
    })
  },
})

/** Returns the module `simulation.ts`. `faults` are changes that are planted in the product: `{ file, find, replace }`. */
export async function loadSimulation(faults = []) {
  const folder = mkdtempSync(join(tmpdir(), 'consentctl-simulation-'))
  try {
    const outfile = join(folder, 'simulation.mjs')
    await build({
      ...shared,
      entryPoints: [join(here, 'simulation.ts')],
      format: 'esm',
      outfile,
      legalComments: 'none',
      inject: [join(here, 'edges/globals.ts')],
      define: { 'Math.random': 'simulatedRandom' },
      plugins: [simulated(faults)],
      ignoreAnnotations: true, // of package.json's sideEffects: some modules would not be initialized
      banner: { js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);" },
    })
    return await import(pathToFileURL(outfile))
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
