import { describe, expect, it } from 'vitest'
import packageJson from '../../package.json' with { type: 'json' }
import { run } from '../support/cli.ts'
import {
  answers,
  byId,
  consent,
  consentsPath,
  expectNoStdout,
  expectUnsent,
  jsonOf,
  listOf,
  machineError,
  useCli,
  uuid,
} from './support.ts'

const cli = useCli()

describe('help and version', () => {
  it.each([[[]], [['-h']], [['--help']]])('%j prints help on stdout and exits with 0', async args => {
    const { code, stdout, stderr } = await run(args, { env: { HOME: '/nowhere' } })
    expect(stderr).toBe('')
    expect(code).toBe(0)
    expect(stdout).toMatch(/^Usage: consentctl <command> \[options\]/)
    expect(stdout).toMatch(/^ {2}list, ls\b/m)
  })

  it('with a stored profile, help has no sign-in hint', async () => {
    const { stdout } = await cli.run([])
    expect(stdout).toContain('auth login')
    await cli.run(['config', 'set', 'base_url', 'http://127.0.0.1:1', '-p', 'local'])
    expect((await cli.run([])).stdout).toMatch(/Start here:\n {2}\$ consentctl list\n/)
  })

  it.each([['auth'], ['config'], ['admin'], ['admin account']])(
    'a bare group (%s) prints its help on stdout and exits with 0',
    async group => {
      const { code, stdout, stderr } = await run(group.split(' '), { env: { HOME: '/nowhere' } })
      expect(stderr).toBe('')
      expect(code).toBe(0)
      expect(stdout).toContain(`Usage: consentctl ${group} <command>`)
    },
  )

  it.each(['-V', '--version'])('%s prints only the version', async flag => {
    expect(await run([flag])).toEqual({ code: 0, stdout: `${packageJson.version}\n`, stderr: '' })
  })

  it('needs neither a home folder nor a valid configuration', async () => {
    expect(await run(['list', '--help'], { env: {} })).toMatchObject({ code: 0, stderr: '' })
    expect(await run(['--help'], { env: { CONSENTCTL_BASE_URL: 'nonsense' } })).toMatchObject({ code: 0 })
  })
})

describe('invalid arguments', () => {
  it.each([
    ['lst', 'did you mean consentctl list or consentctl ls?'],
    ['auth logn', 'did you mean consentctl auth login?'],
    ['auth help', 'consentctl help auth'],
    ['version', 'did you mean consentctl --version?'],
    ['list --subjct x', 'Did you mean --subject?'],
    ['get 7 --include-deletd', 'Did you mean --include-deleted?'],
    ['list --quite', 'Did you mean --quiet?'],
    ['qqqqqq', 'unknown command "qqqqqq"'],
    ['keys qqqqqq', 'unknown command "keys qqqqqq"'],
    ['list --sub x', "unknown option '--sub'"],
    ['list --key sk-x', "unknown option '--key'"],
    ['list --api-key sk-x', "unknown option '--api-key'"],
    ['list extra', 'unexpected argument "extra": list takes no argument'],
    ['update 1 2 --accepted', 'unexpected argument "2": update takes one argument'],
    ['get', "missing required argument 'id'"],
    ['rm', "missing required argument 'id'"],
    ['history', "missing required argument 'id'"],
    ['update', "missing required argument 'id'"],
    ['list --site', 'argument missing'],
    ['list -o xml', 'Allowed choices are table, tsv, json, ndjson, csv, yaml, id'],
    ['requests close DSR-1', 'Use done, refused, withdrawn'],
    ['list --color purple', 'Allowed choices are auto, always, never'],
  ])('"%s" exits with 2 before any request', async (line, said) => {
    const ran = await cli.run(line.split(' '))
    expectNoStdout(ran, 2, 'error: ', said)
    expect(ran.stderr.trimEnd().split('\n').length).toBeLessThanOrEqual(4)
    expect(cli.sent()).toEqual([])
  })

  it('an unexpected argument has no hint about --json', async () => {
    expect((await cli.run(['update', '1', '2', '--accepted', '--json'])).stderr).not.toContain('json=')
  })

  it.each(['list --json --bogus', 'list --bogus -o ndjson', '-o json lst'])(
    '%s prints the error as one line of JSON',
    async line => {
      expectNoStdout(await cli.run(line.split(' ')), 2, { code: 'usage', exit: 2, retryable: false })
    },
  )

  it('CONSENTCTL_ERROR_FORMAT=json prints the error as JSON in any format', async () => {
    const { stderr } = await cli.run(['lst'], { env: { CONSENTCTL_ERROR_FORMAT: 'json' } })
    expect(machineError(stderr)).toMatchObject({
      code: 'usage',
      hint: 'did you mean consentctl list or consentctl ls?',
    })
  })
})

describe('flags', () => {
  it.each([['-o json list'], ['list -o json'], ['--json list'], ['list --json'], ['list --output=json']])(
    'a global flag works before and after the command: %s',
    async line => {
      cli.instance.use(listOf(1))
      expect(jsonOf(await cli.run(line.split(' ')))).toHaveLength(1)
    },
  )

  it('--base-url works before and after the command', async () => {
    cli.instance.use(listOf(0))
    const env = { CONSENTCTL_BASE_URL: undefined }
    expect(await cli.run(['--base-url', cli.instance.url, 'list'], { env })).toMatchObject({ code: 0 })
    expect(await cli.run(['list', '--base-url', `${cli.instance.url}/`], { env })).toMatchObject({ code: 0 })
    expect(cli.sent()).toHaveLength(2)
  })

  it.each([
    'list --subject a --subject b',
    'list --subject a --subject=a',
    'list --limit 1 --limit 2',
    'list --json --json',
    'list -o json -o tsv',
    'list --color never --color always',
    '-p a list -p b',
    '--base-url http://127.0.0.1:1 list --base-url http://127.0.0.1:2',
    'rm 7 --yes -y',
    'create --accepted --accepted',
    'create --site a --site b',
    'update 7 --preferences @a --preferences @b',
  ])('rejects a repeated flag: %s', async line => {
    expectUnsent(cli, await cli.run(line.split(' ')), 'is repeated')
  })

  it.each([
    ...['--site', '--subject', '--consent-id', '--from', '--to', '--cursor', '--limit', '--max-requests'].map(flag => [
      'list',
      flag,
    ]),
    ...['--site', '--subject', '--consent-id', '--policy-version', '--ip-address', '--file', '--preferences'].map(
      flag => ['create', flag],
    ),
    ['update', '--pref'],
    ['update', '--preferences'],
    ['list', '--base-url'],
    ['list', '--profile'],
  ])('rejects an empty value: %s %s', async (command, flag) => {
    expectUnsent(cli, await cli.run([command, ...(command === 'update' ? ['7'] : []), flag, '']), flag)
  })

  it.each(['0', '-1', '1.5', '1e3', 'ten', '0x10', ' 1'])('--limit rejects %j', async value => {
    expect(await cli.run(['list', '--limit', value])).toMatchObject({ code: 2, stdout: '' })
    expectUnsent(cli, await cli.run(['list', `--max-requests=${value}`]))
  })

  it('-- ends the options', async () => {
    cli.instance.use(answers('get', byId, consent({ id: '--yes' })))
    expect(await cli.run(['get', '--', '--yes'])).toMatchObject({ code: 0 })
    expect(cli.sent()).toMatchObject([{ path: '/api/v1/consents/--yes' }])
  })

  it('the id after --pref is not read as its value', async () => {
    cli.instance.use(answers('get', byId, consent()), answers('put', byId, consent()))
    expect((await cli.run(['update', '--pref', 'marketing=false', uuid(1)])).code).toBe(0)
    expect(cli.sent().at(-1)).toMatchObject({ method: 'PUT', path: `/api/v1/consents/${uuid(1)}` })
  })
})

describe('aliases', () => {
  it('ls runs list', async () => {
    cli.instance.use(listOf(2))
    expect((await cli.run(['ls'])).stdout.split('\n')).toHaveLength(3)
    expect(cli.sent()).toMatchObject([{ method: 'GET', path: '/api/v1/consents' }])
  })

  it('delete runs rm', async () => {
    cli.instance.use(answers('delete', byId, consent({ id: '7' })))
    expect(await cli.run(['delete', '7', '--yes'])).toMatchObject({ code: 0 })
    expect(cli.sent()).toMatchObject([{ method: 'DELETE', path: '/api/v1/consents/7' }])
  })
})

it('a command name in the value of a flag stays a value', async () => {
  cli.instance.use(answers('get', consentsPath, { data: [], next_cursor: null }))
  expect(await cli.run(['list', '--subject', 'rm'])).toMatchObject({ code: 0 })
  expect(cli.sent()).toMatchObject([{ method: 'GET', query: { subject_id: 'rm' } }])
})
