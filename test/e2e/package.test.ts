import { execFileSync, spawnSync } from 'node:child_process'
import { copyFileSync, mkdirSync, readdirSync, readFileSync, renameSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { beforeAll, describe, expect, it } from 'vitest'
import packageJson from '../../package.json' with { type: 'json' }
import { useFolder } from '../support/cli.ts'
import { startServer } from '../support/server.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const folder = useFolder()
let installed: string

/** The package as npm makes it, unpacked, with the libraries of this clone. */
beforeAll(() => {
  const pack = ['pack', '--ignore-scripts', '--json', '--pack-destination', folder.path]
  const [{ filename }] = JSON.parse(execFileSync('npm', pack, { cwd: root, encoding: 'utf8', stdio: 'pipe' }))
  execFileSync('tar', ['-xzf', join(folder.path, filename), '-C', folder.path])
  mkdirSync(join(folder.path, 'node_modules'))
  installed = join(folder.path, 'node_modules', 'consentctl')
  renameSync(join(folder.path, 'package'), installed)
  symlinkSync(join(root, 'node_modules'), join(installed, 'node_modules'))
})

it('serve --quickstart › outside a clone, suggests commands without npx', async () => {
  const binary = join(installed, 'bin', 'consentctl.cjs')
  for (const last of [/--help/, /If the password is lost/]) {
    const server = await startServer(['--quickstart', '--port', '0'], { HOME: folder.path }, last, binary)
    expect(await server.end('SIGTERM')).toBe(0)
    expect(server.output()).toMatch(/^ {2}consentctl (create|auth login)/m)
    expect(server.output()).not.toMatch(/\bnpx /)
  }
})

it('package.json lists every manual page while npm packs it, and none afterwards', () => {
  const pages = (word: string) => {
    execFileSync(process.execPath, [join(installed, 'bin', 'pages.js'), word])
    return JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8')).man
  }
  copyFileSync(join(root, 'bin', 'pages.js'), join(installed, 'bin', 'pages.js'))
  expect(pages('list')).toContain('dist/man/consentctl-create.1')
  expect(pages('list')).toHaveLength(readdirSync(join(installed, 'dist', 'man')).length)
  expect(pages('clear')).toBeUndefined()
  expect(readFileSync(join(installed, 'package.json'), 'utf8')).toBe(readFileSync(join(root, 'package.json'), 'utf8'))
  expect(packageJson.scripts).toMatchObject({
    prepack: 'node bin/setup.js && node bin/pages.js list',
    postpack: 'node bin/pages.js clear',
  })
})

describe('--version', () => {
  const version = (cwd: string, ...args: string[]) =>
    spawnSync(process.execPath, [join(cwd, 'bin', 'consentctl.cjs'), ...args], { encoding: 'utf8' }).stdout

  const git = (cwd: string, ...args: string[]) =>
    execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@example.com', ...args], {
      cwd,
      encoding: 'utf8',
    }).trim()

  /** What a build in a folder calls itself. */
  function describeBuild(cwd: string, env: Record<string, string> = {}): string {
    const code = `import('${join(cwd, 'bin', 'version.js')}').then(all => console.log(all.describeBuild()))`
    return execFileSync(process.execPath, ['-e', code], { encoding: 'utf8', env: { ...process.env, ...env } }).trim()
  }

  it('prints the version and commit of the package', () => {
    const line = new RegExp(
      `^${packageJson.version} \\(commit (unknown: built without git|[\\da-f]{12}(, modified)?)\\)\\n$`,
    )
    expect(version(installed, '--version')).toMatch(line)
  })

  it('distinguishes commits, changed files and builds without git', () => {
    const clone = join(folder.path, 'clone')
    mkdirSync(join(clone, 'bin'), { recursive: true })
    execFileSync('cp', [join(root, 'bin', 'version.js'), join(clone, 'bin')])
    writeFileSync(join(clone, 'package.json'), JSON.stringify({ version: '1.2.3', type: 'module' }))
    expect(describeBuild(clone)).toBe('1.2.3 (commit unknown: built without git)')
    expect(describeBuild(clone, { CONSENTCTL_COMMIT: 'abc' })).toBe('1.2.3 (commit abc)')
    git(clone, 'init', '--quiet')
    git(clone, 'add', '.')
    git(clone, 'commit', '--quiet', '-m', 'first')
    const commit = git(clone, 'rev-parse', '--short=12', 'HEAD')
    expect(describeBuild(clone)).toBe(`1.2.3 (commit ${commit})`)
    writeFileSync(join(clone, 'NOTES'), 'what no build reads')
    expect(describeBuild(clone)).toBe(`1.2.3 (commit ${commit})`)
    writeFileSync(join(clone, 'bin', 'more.js'), '')
    expect(describeBuild(clone)).toBe(`1.2.3 (commit ${commit}, modified)`)
  })
})
