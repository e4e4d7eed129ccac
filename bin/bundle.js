// How the client is bundled: for the package, and for the single executable.
import { fileURLToPath } from 'node:url'

/** What holds for every bundle of this project. */
export const shared = {
  absWorkingDir: fileURLToPath(new URL('..', import.meta.url)),
  bundle: true,
  platform: 'node',
  target: 'node20.19',
  loader: { '.sql': 'text' },
  legalComments: 'external',
  logLevel: 'warning',
}

/** commander wants it for subcommands that are executables of their own, which there are none of; it costs 6 ms. */
const noSubprocesses = {
  name: 'no subprocesses',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^node:child_process$/ }, ({ importer }) =>
      /[\\/]commander[\\/]/.test(importer) ? { path: 'child_process', namespace: 'empty' } : undefined,
    )
    onLoad({ filter: /./, namespace: 'empty' }, () => ({ contents: 'module.exports = {}' }))
  },
}

/** The client as one CommonJS script; a module behind `import()` is still not run before it is asked for. */
export const client = {
  ...shared,
  entryPoints: ['src/main.ts'],
  format: 'cjs',
  outExtension: { '.js': '.cjs' },
  supported: { 'dynamic-import': false },
  minify: true,
  plugins: [noSubprocesses],
}
