// Runs the benchmarks of this folder: builds them beside the package, and leaves nothing of them behind.
import { rmSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { shared } from '../../bin/bundle.js'

const folder = new URL(`../../dist/bench-${process.pid}/`, import.meta.url)
process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
await build({
  ...shared,
  entryPoints: ['bench', 'ceiling', 'bare-list', 'bare-create'].map(name => `test/bench/${name}.ts`),
  format: 'esm',
  splitting: true,
  outdir: fileURLToPath(folder),
  packages: 'external',
})
const { bench } = await import(new URL('bench.js', folder).href)
process.exitCode = await bench(process.argv.slice(2), fileURLToPath(folder))
