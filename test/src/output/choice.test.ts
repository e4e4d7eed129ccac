import { describe, expect, it } from 'vitest'
import { apiKeyOf, keysPath, managed, newKey, runAs, signedIn } from '../session-fixtures.ts'
import { answers, byId, consent, expectExit, jsonOf, listOf, machineError, screen, useCli, uuid } from '../support.ts'
import { readCsv } from './parse.ts'

const cli = useCli()
const legal =
  'id,site_id,consent_id,subject_id,country,region,user_agent,accepted,preferences,policy_version,created_at,updated_at,deleted_at'

describe('--json=fields', () => {
  it('prints only these fields, in this order', async () => {
    cli.instance.use(listOf(2))
    const { code, stdout } = await cli.run(['list', '--json=subject_id,id'])
    expect(code).toBe(0)
    expect(stdout).toBe(
      `[\n{"subject_id":"maria@example.com","id":"${uuid(0)}"},\n{"subject_id":"maria@example.com","id":"${uuid(1)}"}\n]\n`,
    )
  })

  it('returns one object for one id, null for missing values, and ignores spaces', async () => {
    cli.instance.use(answers('get', byId, consent({ region: null })))
    const { stdout } = await cli.run(['get', '7', '--json=region, preferences'])
    expect(stdout).toBe('{\n  "region": null,\n  "preferences": {\n    "marketing": true\n  }\n}\n')
  })

  it.each([
    [['get', '--json', '7']],
    [['--json', 'get', '7']],
    [['get', '7', '--json']],
    [['--json=id', 'get', '--', '7']],
    [['get', '--json=id', '7']],
  ])('does not read the next word as its value: %j', async args => {
    cli.instance.use(answers('get', byId, consent({ id: '7' })))
    expect(jsonOf(await cli.run(args))).toMatchObject({ id: '7' })
    expect(cli.sent()).toMatchObject([{ path: '/api/v1/consents/7' }])
  })

  it('rejects a second --json', async () => {
    expectExit(await cli.run(['get', '--json=id', '--json', '7']), 2, 'is repeated')
  })

  it('prints errors as one line of JSON', async () => {
    expectExit(await cli.run(['list', '--json=id', '--bogus']), 2, { code: 'usage' })
    expect(machineError((await cli.run(['list', '--json='])).stderr)).toMatchObject({ code: 'usage' })
  })
})

describe('--columns', () => {
  it.each([
    ['tsv', `maria@example.com\t${uuid(0)}\n`],
    ['csv', `subject_id,id\r\nmaria@example.com,${uuid(0)}\r\n`],
  ])('prints only these columns, in this order: %s', async (format, expected) => {
    cli.instance.use(listOf(1))
    expect((await cli.run(['list', '-o', format, '--columns', 'subject_id,id'])).stdout).toBe(expected)
  })

  it('names them in the header of TSV', async () => {
    cli.instance.use(listOf(1))
    const { stdout } = await cli.run(['list', '--header', '--columns=country,id'])
    expect(stdout).toBe(`country\tid\nDE\t${uuid(0)}\n`)
  })

  it('shows the selected columns in a table, and all of them even if it is narrow', async () => {
    cli.instance.use(listOf(2, index => consent({ id: uuid(index), region: null })))
    const columns = 'user_agent,id,region,updated_at,subject_id'
    const { stdout } = await cli.run(['list', '--columns', columns, '--color', 'never'], {
      ...screen,
      columns: 60,
    })
    expect(stdout.split('\n')[0]?.split(/ +/)).toEqual(columns.toUpperCase().split(','))
    expect(stdout).toContain(uuid(1))
  })

  it('shows only the selected fields of one record', async () => {
    cli.instance.use(answers('get', byId, consent()))
    const { stdout } = await cli.run(['get', '7', '--columns', 'region,id', '--color', 'never'], screen)
    expect(stdout).toBe(`REGION  BE\nID      ${uuid(1)}\n`)
  })
})

describe('--no-truncate', () => {
  it('truncates nothing and omits no column', async () => {
    const long = '同意 '.repeat(60)
    cli.instance.use(listOf(2, index => consent({ id: uuid(index), subject_id: `${long}end` })))
    const { stdout } = await cli.run(['list', '--no-truncate', '--color', 'never'], {
      ...screen,
      columns: 60,
    })
    expect(stdout).not.toContain('…')
    expect(stdout.match(/end {2}/g)).toHaveLength(2)
    expect(stdout.split('\n')[0]).toMatch(/^ID .*SUBJECT_ID .*COUNTRY/)
  })

  it('breaks no value of one record', async () => {
    const subject_id = 'x'.repeat(300)
    cli.instance.use(answers('get', byId, consent({ subject_id })))
    const { stdout } = await cli.run(['get', '7', '--no-truncate'], { ...screen, columns: 60 })
    expect(stdout).toContain(subject_id)
  })
})

it('--no-csv-guard leaves formulas unchanged', async () => {
  cli.instance.use(listOf(1, () => consent({ subject_id: '=1+1' })))
  const subject = async (...flags: string[]) => {
    const { stdout } = await cli.run(['list', '-o', 'csv', '--columns', 'subject_id', ...flags])
    return readCsv(stdout, { isGuarded: false }).cells
  }
  expect(await subject()).toEqual([["'=1+1"]])
  expect(await subject('--no-csv-guard')).toEqual([['=1+1']])
})

describe('an invalid selection of fields', () => {
  it.each([
    ['list --json=id,nope', `unknown field "nope"`],
    ['list --columns nope', `use ${legal}`],
    ['get 7 --columns ID', `use ${legal}`],
    ['rm 7 --yes --json=nope', `use ${legal}`],
    ['create --file - --json=subject_id', 'use line,result,id,error_code,message'],
    ['usage --columns nope', 'use month,used,limit,remaining,resets_at'],
    ['keys list --json=nope', 'use id,name,hint'],
    ['sites list --json=nope', 'use id,name,policy_version'],
    ['list --json=', 'empty name'],
    ['list --columns=', 'empty name'],
    ['list --columns id,,id', 'empty name'],
    ['list --columns id,id', 'a name is repeated'],
    ['list --json=id -o ndjson', '--json cannot be combined with -o ndjson'],
    ['list --json -o tsv', '--json cannot be combined with -o tsv'],
    ['list --columns id --json', '--columns cannot be combined with -o json'],
    ['list --columns id -o yaml', '--columns cannot be combined with -o yaml'],
    ['list --columns id -q', '--columns cannot be combined with -q'],
    ['list --header -o ndjson', '--header cannot be combined with -o ndjson'],
    ['list --no-truncate -o json', '--no-truncate cannot be combined with -o json'],
    ['list --no-csv-guard', '--no-csv-guard cannot be combined with -o tsv'],
    ['keys create --name a --json=id', 'would lose the key'],
    ['keys create --name a --columns id,name', 'would lose the key'],
    ['sites create --name a --json=id', 'would lose the token'],
    ['sites rotate-token 7 --columns site_id', 'would lose the token'],
    ['admin account create --email a@b.c --columns password,site_token', 'would lose the api_key'],
    ['admin user password --email a@b.c --json=email', 'would lose the password'],
    ['auth logout --columns id', 'prints no records'],
    ['auth login --out keys.txt', 'prints no records'],
    ['serve --json=id', 'prints no records'],
  ])('is rejected before any request: %s', async (line, said) => {
    const { code, stdout, stderr } = await cli.run(line.split(' '))
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr.replaceAll('\\"', '"')).toContain(said)
    expect(cli.sent()).toEqual([])
  })
})

it('prints a secret that is among the fields', async () => {
  signedIn(cli, 'post', keysPath, () => ({ ...apiKeyOf(), key: newKey }))
  const { stdout } = await runAs(cli, ['keys', 'create', '--name', 'a', '--json=key'])
  expect(JSON.parse(stdout)).toEqual({ key: newKey })
  expect(managed(cli)).toHaveLength(1)
})
