// Makes dist/consentctl-<platform>-<arch>, the client and Node.js in one file, with Node's --build-sea.
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { build } from 'esbuild'
import { client } from './bundle.js'
import { fetchNode, root, run } from './releases.js'
import { describeBuild } from './version.js'

/** The oldest LTS release with --build-sea. */
const major = 26

const node = fetchNode(major)
if (node === null) throw new Error(`cannot download Node.js ${major} from npm`)
const suffix = process.platform === 'win32' ? '.exe' : ''
const output = join(root, 'dist', `consentctl-${process.platform}-${process.arch}${suffix}`)
const folder = mkdtempSync(join(tmpdir(), 'consentctl-sea-'))
try {
  const [main, config] = [join(folder, 'main.cjs'), join(folder, 'config.json')]
  await build({
    ...client,
    entryPoints: ['bin/sea.js'],
    target: `node${major}`,
    legalComments: 'eof',
    outfile: main,
    define: { BUILD: JSON.stringify(`${describeBuild()}\n`) },
  })
  const settings = {
    main,
    output,
    executable: node,
    disableExperimentalSEAWarning: true,
    useCodeCache: true,
    // NODE_OPTIONS could load arbitrary code.
    execArgvExtension: 'none',
  }
  writeFileSync(config, JSON.stringify(settings))
  if (!run(node, ['--build-sea', config])) throw new Error('Node.js could not build the executable')
} finally {
  rmSync(folder, { recursive: true, force: true })
}
process.stdout.write(`${output}: ${(statSync(output).size / 2 ** 20).toFixed(0)} MiB\n`)
