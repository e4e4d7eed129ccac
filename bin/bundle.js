import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const shared = {
  absWorkingDir: fileURLToPath(new URL('..', import.meta.url)),
  bundle: true,
  platform: 'node',
  target: 'node20.19',
  loader: { '.sql': 'text', '.md': 'text' },
  legalComments: 'external',
  logLevel: 'warning',
}

/** commander requires it for executable subcommands, which do not exist here; loading it costs 6 ms. */
const noSubprocesses = {
  name: 'no subprocesses',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^node:child_process$/ }, ({ importer }) =>
      /[\\/]commander[\\/]/.test(importer) ? { path: 'child_process', namespace: 'empty' } : undefined,
    )
    onLoad({ filter: /./, namespace: 'empty' }, () => ({ contents: 'module.exports = {}' }))
  },
}

/** Keeps only the version of package.json, because each start evaluates it. */
const versionOnly = {
  name: 'version only',
  setup({ onLoad }) {
    onLoad({ filter: /package\.json$/ }, ({ path }) => {
      if (path !== join(shared.absWorkingDir, 'package.json')) return undefined
      const { version } = JSON.parse(readFileSync(path, 'utf8'))
      return { contents: JSON.stringify({ version }), loader: 'json' }
    })
  },
}

/** A module behind `import()` still runs at its first use. */
export const client = {
  ...shared,
  entryPoints: ['src/main.ts'],
  format: 'cjs',
  outExtension: { '.js': '.cjs' },
  supported: { 'dynamic-import': false },
  minify: true,
  plugins: [noSubprocesses, versionOnly],
}
