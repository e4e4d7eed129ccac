import { spawnSync } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { beforeAll, describe, expect, it } from 'vitest'
import { binary, quote, run, useFolder } from '../../support/cli.ts'
import { examples } from '../evidence/examples.ts'
import { expectExit, uuid } from '../support.ts'

const folder = useFolder()
const scripts = fileURLToPath(new URL('../../../completions/', import.meta.url))

beforeAll(() => {
  mkdirSync(join(folder.path, '.config', 'consentctl'), { recursive: true })
  const profiles = { shop: { base_url: 'https://a.example', site: 'site-1' }, blog: { site: 'site-2' } }
  const config = JSON.stringify({ profile: 'shop', profiles })
  writeFileSync(join(folder.path, '.config', 'consentctl', 'config.json'), config)
  const command = [process.execPath, binary].map(quote).join(' ')
  writeFileSync(join(folder.path, 'consentctl'), `#!/bin/sh\nexec ${command} "$@"\n`)
  chmodSync(join(folder.path, 'consentctl'), 0o755)
  writeFileSync(join(folder.path, 'records.ndjson'), '')
  const state = join(folder.path, '.local', 'state', 'consentctl')
  for (const name of ['jobs', 'erasures', 'receipts/shop']) mkdirSync(join(state, name), { recursive: true })
  writeFileSync(join(state, 'sites.json'), JSON.stringify({ 'https://a.example': ['Shop', 'My blog'] }))
  writeFileSync(join(state, 'jobs', `${imported}.job`), '')
  writeFileSync(join(state, 'erasures', `${erasure}.job`), '')
  writeFileSync(join(state, 'receipts', 'shop', '000001.json'), `${receipt}`)
})

const [imported, erasure] = [uuid(1), uuid(2)]
/** Of the ticket PRIV-123. */
const receipt = examples['erasure receipt']

/** What a shell says, with the command on its PATH, in a folder with one file. */
function say(command: string, args: string[], input?: string): string {
  const env = { PATH: `${folder.path}:${process.env['PATH']}`, HOME: folder.path, TERM: 'dumb' }
  const { stdout, stderr, status } = spawnSync(command, args, {
    env,
    cwd: folder.path,
    input,
    timeout: 20_000,
  })
  expect({ stderr: String(stderr), status }).toEqual({ stderr: '', status: 0 })
  return String(stdout)
}

/** Each shell's candidates for the last word of a line. */
const shells: Record<string, (words: string[]) => string[]> = {
  bash: words => {
    const list = words.map(word => `'${word}'`).join(' ')
    const asked = `COMP_WORDS=(${list}); COMP_CWORD=${words.length - 1}; _consentctl; printf '%s\\n' "\${COMPREPLY[@]}"`
    return lines(say('bash', ['-c', `source ${quote(`${scripts}consentctl.bash`)}; ${asked}`]))
  },
  fish: words => {
    const line = words.join(' ')
    const asked = `source ${quote(`${scripts}consentctl.fish`)}; complete -C '${line}'`
    return lines(say('fish', ['-c', asked])).map(each => each.split('\t')[0] ?? '')
  },
  zsh: words => {
    // Replaces what would show candidates by what prints them, in a completion that is set up by hand.
    const given = `words=(${words.map(word => `'${word}'`).join(' ')}); CURRENT=${words.length}; PREFIX='${words.at(-1)}'`
    const shown = `
      show() { local each; for each in "\${(@)\${(P)1}}"; do [[ $each == $PREFIX* ]] && print -r -- "\${each%%:*}"; done }
      _describe() { [[ $1 == -o ]] && shift; show $2 }
      compadd() { show $2 }
      _files() { print -l -- * }
      compset() { PREFIX=\${PREFIX#*=} }
      compdef() { :; }`
    return lines(
      say('zsh', ['-fc', `${shown}\nsource ${quote(`${scripts}_consentctl`)}; ${given}; _consentctl || true`]),
    )
  },
}

function lines(text: string): string[] {
  return text.split('\n').filter(line => line !== '')
}

const found = Object.entries(shells).filter(([shell]) => spawnSync(shell, ['--version']).status === 0)
if (found.length < 3)
  process.stderr.write('\n*** SKIPPED: completions in some of bash, fish and zsh, which are not all here. ***\n\n')

describe.each(found)('%s completes', (shell, ask) => {
  const line = (text: string) => ask(text.split(' '))

  it('commands by their beginnings, and aliases', () => {
    expect(line('consentctl li')).toEqual(['list'])
    expect(line('consentctl ')).toEqual(expect.arrayContaining(['create', 'ls', 'auth', 'completion']))
    expect(line('consentctl auth ')).toEqual(expect.arrayContaining(['login', 'logout', 'status']))
    expect(line('consentctl admin user p')).toEqual(['password'])
  })

  it('the flags of the command, of an alias of it, and of the program', () => {
    expect(line('consentctl list --include')).toEqual(['--include-deleted'])
    expect(line('consentctl ls --inc')).toEqual(['--include-deleted'])
    expect(line('consentctl -o json delete --ye')).toEqual(['--yes'])
    expect(line('consentctl get --prof')).toEqual(['--profile'])
    expect(line('consentctl get --sub')).toEqual([])
  })

  it('values from a list, after a space and after a sign', () => {
    expect(line('consentctl list -o ')).toEqual(expect.arrayContaining(['table', 'ndjson']))
    expect(line('consentctl list --color al')).toEqual(['always'])
    const signed =
      shell === 'bash' ? ['consentctl', 'list', '--color', '=', 'ne'] : ['consentctl', 'list', '--color=ne']
    expect(ask(signed).map(each => each.replace('--color=', ''))).toEqual(['never'])
  })

  it('profiles and sites from the local files', () => {
    expect(line('consentctl list -p ').sort()).toEqual(['blog', 'shop'])
    expect(line('consentctl create --site site').sort()).toEqual(['site-1', 'site-2'])
  })

  it('sites by the names of the last list, settings, receipts, tickets and jobs from the local files', () => {
    expect(line('consentctl list --site ')).toEqual(expect.arrayContaining(['site-1', 'Shop']))
    expect(line('consentctl list --site Sh')).toEqual(['Shop'])
    expect(line('consentctl config set ba')).toEqual(['base_url'])
    expect(line('consentctl config remove ').sort()).toEqual(['blog', 'shop'])
    expect(line('consentctl subject receipts PRIV')).toEqual(['PRIV-123'])
    expect(line('consentctl subject verify ').sort()).toEqual(['1', 'PRIV-123', 'last'])
    expect(line('consentctl subject find --request ')).toEqual(['PRIV-123'])
    expect(line('consentctl subject resume ').sort()).toEqual([erasure, 'last'])
    expect(line('consentctl create --resume ').sort()).toEqual([imported, 'last'])
    expect(line('consentctl help exi')).toEqual(['exit-codes'])
  })

  it('names unchanged, without evaluating them', () => {
    const file = join(folder.path, '.config', 'consentctl', 'config.json')
    const before = readFileSync(file, 'utf8')
    writeFileSync(file, JSON.stringify({ profiles: { [`x$(touch ${folder.path}/evaluated)`]: {} } }))
    expect(line('consentctl list -p x')).toHaveLength(1)
    writeFileSync(file, before)
    expect(existsSync(join(folder.path, 'evaluated'))).toBe(false)
  })

  it('nothing for a free value, and does not read a value as a command', () => {
    expect(line('consentctl list --subject ')).toEqual([])
    expect(line('consentctl -p list --inc')).toEqual([])
  })
})

describe('completion install', () => {
  const env = () => ({ HOME: folder.path, SHELL: '/usr/bin/fish' })
  const file = () => join(folder.path, '.config', 'fish', 'completions', 'consentctl.fish')

  it('changes no file if it cannot prompt', async () => {
    expect(await run(['completion', 'install'], { env: env() })).toMatchObject({ code: 2, stdout: '' })
    expect(existsSync(file())).toBe(false)
  })

  it('writes the script of the shell that is used, once', async () => {
    const first = await run(['completion', 'install', '--yes'], { env: env() })
    expect(first).toEqual({ code: 0, stdout: '', stderr: `wrote ${file()}\n` })
    expect(readFileSync(file(), 'utf8')).toBe(readFileSync(`${scripts}consentctl.fish`, 'utf8'))
    expect((await run(['completion', 'install', '--yes'], { env: env() })).stderr).toContain('up to date')
  })

  it('rejects a shell without a script', async () => {
    const ran = await run(['completion', 'install', '-y'], {
      env: { ...env(), SHELL: '/bin/csh' },
    })
    expectExit(ran, 2, 'no completions for csh')
  })
})
