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
    timeout: 50_000,
  })
  expect({ stderr: String(stderr), status }).toEqual({ stderr: '', status: 0 })
  return String(stdout)
}

/** Prints each line's candidates for its last word, and then a mark. */
const shells: Record<string, (lines: string[][]) => string> = {
  bash: lines => {
    const asked = lines.map(words => {
      const list = words.map(word => `'${word}'`).join(' ')
      const given = `COMP_WORDS=(${list}); COMP_CWORD=${words.length - 1}; COMPREPLY=()`
      return `${given}; _consentctl; printf '%s\\n' "\${COMPREPLY[@]}" '${mark}'`
    })
    return say('bash', ['-c', `source ${quote(`${scripts}consentctl.bash`)}; ${asked.join('; ')}`])
  },
  fish: lines => {
    const asked = lines.map(words => `complete -C '${words.join(' ')}'; echo '${mark}'`)
    return say('fish', ['-c', `source ${quote(`${scripts}consentctl.fish`)}; ${asked.join('; ')}`])
  },
  zsh: lines => {
    // Replaces what would show candidates by what prints them, in a completion that is set up by hand.
    const shown = `
      show() { local each; for each in "\${(@)\${(P)1}}"; do [[ $each == $PREFIX* ]] && print -r -- "\${each%%:*}"; done }
      _describe() { [[ $1 == -o ]] && shift; show $2 }
      compadd() { show $2 }
      _files() { print -l -- * }
      compset() { PREFIX=\${PREFIX#*=} }
      compdef() { :; }`
    const asked = lines.map(words => {
      const given = `words=(${words.map(word => `'${word}'`).join(' ')}); CURRENT=${words.length}; PREFIX='${words.at(-1)}'`
      return `${given}; _consentctl || true; print -r -- '${mark}'`
    })
    return say('zsh', ['-fc', [shown, `source ${quote(`${scripts}_consentctl`)}`, ...asked].join('\n')])
  },
}

const mark = '--- end of candidates ---'

const found = Object.entries(shells).filter(([shell]) => spawnSync(shell, ['--version']).status === 0)
if (found.length < 3)
  process.stderr.write('\n*** SKIPPED: completions in some of bash, fish and zsh, which are not all here. ***\n\n')

describe.each(found)('%s completion', { timeout: 60_000 }, (shell, ask) => {
  /** Candidates of each line, by one process. */
  const complete = (...asked: string[]) => {
    const told = ask(asked.map(line => line.split(' '))).split(`${mark}\n`)
    return told.slice(0, -1).map(text => {
      const lines = text.split('\n').filter(line => line !== '')
      return shell === 'fish' ? lines.map(line => line.split('\t')[0]) : lines
    })
  }

  it('completes commands by prefix, and aliases', () => {
    const asked = ['consentctl li', 'consentctl ', 'consentctl auth ', 'consentctl admin user p']
    expect(complete(...asked)).toEqual([
      ['list'],
      expect.arrayContaining(['create', 'ls', 'auth', 'completion']),
      expect.arrayContaining(['login', 'logout', 'status']),
      ['password'],
    ])
  })

  it('completes the flags of the command, of its alias, and of the program', () => {
    const lines = ['list --include', 'ls --inc', '-o json delete --ye', 'get --prof', 'get --sub']
    expect(complete(...lines.map(line => `consentctl ${line}`))).toEqual([
      ['--include-deleted'],
      ['--include-deleted'],
      ['--yes'],
      ['--profile'],
      [],
    ])
  })

  it('completes values from a list, after a space and after an equals sign', () => {
    const signed = shell === 'bash' ? 'consentctl list --color = ne' : 'consentctl list --color=ne'
    const [formats, colors, after] = complete('consentctl list -o ', 'consentctl list --color al', signed)
    expect([formats, colors]).toEqual([expect.arrayContaining(['table', 'ndjson']), ['always']])
    expect(after?.map(each => each?.replace('--color=', ''))).toEqual(['never'])
  })

  it('completes profiles and sites from local files', () => {
    const found = complete('consentctl list -p ', 'consentctl create --site site')
    expect(found.map(each => each.sort())).toEqual([
      ['blog', 'shop'],
      ['site-1', 'site-2'],
    ])
  })

  it('completes sites from the last list, and settings, receipts, tickets and jobs from local files', () => {
    const expected: [line: string, candidates: unknown][] = [
      ['list --site ', expect.arrayContaining(['site-1', 'Shop'])],
      ['list --site Sh', ['Shop']],
      ['config set ba', ['base_url']],
      ['config remove ', ['blog', 'shop']],
      ['subject receipts PRIV', ['PRIV-123']],
      ['subject verify ', ['1', 'PRIV-123', 'last']],
      ['subject find --request ', ['PRIV-123']],
      ['subject resume ', [erasure, 'last']],
      ['create --resume ', [imported, 'last']],
      ['help exi', ['exit-codes']],
    ]
    const found = complete(...expected.map(([line]) => `consentctl ${line}`))
    expect(found.map(each => each.sort())).toEqual(expected.map(([, candidates]) => candidates))
  })

  it('completes names literally, without evaluating them', () => {
    const file = join(folder.path, '.config', 'consentctl', 'config.json')
    const before = readFileSync(file, 'utf8')
    writeFileSync(file, JSON.stringify({ profiles: { [`x$(touch ${folder.path}/evaluated)`]: {} } }))
    expect(complete('consentctl list -p x')[0]).toHaveLength(1)
    writeFileSync(file, before)
    expect(existsSync(join(folder.path, 'evaluated'))).toBe(false)
  })

  it('suggests nothing for a free-form value, and mistakes no value for a command', () => {
    expect(complete('consentctl list --subject ', 'consentctl -p list --inc')).toEqual([[], []])
  })
})

describe('completion install', () => {
  const env = () => ({ HOME: folder.path, SHELL: '/usr/bin/fish' })
  const file = () => join(folder.path, '.config', 'fish', 'completions', 'consentctl.fish')

  it('changes no file if it cannot prompt', async () => {
    expect(await run(['completion', 'install'], { env: env() })).toMatchObject({ code: 2, stdout: '' })
    expect(existsSync(file())).toBe(false)
  })

  it('writes the script of the current shell once', async () => {
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
