// The tests of the built executable, on the single executable: after bin/build-sea.js. What needs the service
// runs that from the package.
import { join } from 'node:path'
import { root, run } from '../bin/releases.js'

const suffix = process.platform === 'win32' ? '.exe' : ''
const binary = join(root, 'dist', `consentctl-${process.platform}-${process.arch}${suffix}`)
const names = ['fixtures', 'streams', 'smoke', 'manage', 'terminal', 'executable']
const tests = names.map(name => `test/e2e/${name}.test.ts`)
const runner = ['node_modules/vitest/vitest.mjs', 'run', '--config', 'test/vitest.config.ts']
if (!run(process.execPath, [...runner, ...tests], { CONSENTCTL_TEST_BINARY: binary, TEST_ENGINE: 'none' }))
  process.exitCode = 1
