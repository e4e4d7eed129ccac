import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import {
  apiKeyOf,
  email,
  keysPath,
  managing,
  newKey,
  runAs,
  signsIn,
  siteOf,
  sitesPath,
} from '../../session-fixtures.ts'
import {
  answers,
  apiKey,
  consent,
  consentsPath,
  expectNoStdout,
  fails,
  listOf,
  machineError,
  site,
  useCli,
  uuid,
} from '../../support.ts'

const cli = useCli()

/** What the instance answers to a key that asks for its sites. */
function listing(sites = [siteOf(), siteOf({ id: uuid(2), name: 'Blog' })]) {
  cli.instance.use(answers('get', sitesPath, { data: sites }))
}
const sixRoutes = () => cli.instance.use(answers('get', sitesPath, { error: 'not_found', message: 'x' }, 404))
const sent = () => cli.sent().map(({ method, path }) => `${method} ${path}`)

describe('sites list', () => {
  it('uses the API key, and does not prompt for a password', async () => {
    listing()
    const { code, stdout } = await cli.run(['sites', 'list', '-q'], { env: { CONSENTCTL_EMAIL: email } })
    expect({ code, stdout }).toEqual({ code: 0, stdout: `${site}\n${uuid(2)}\n` })
    expect(cli.instance.requests.map(({ headers }) => headers.authorization)).toEqual([`Bearer ${apiKey}`])
  })

  it('signs in when there is an e-mail and no key', async () => {
    const env = { CONSENTCTL_EMAIL: email, CONSENTCTL_API_KEY: undefined }
    const { code, stderr } = await cli.run(['sites', 'list', '--json'], { env })
    expect({ code, said: machineError(stderr)['message'] }).toEqual({
      code: 2,
      said: expect.stringContaining('cannot prompt for the password'),
    })
  })
})

describe('a site given by name', () => {
  it.each([
    ['create', ['create', '--site', 'Shop', '--refused']],
    ['create, by the environment', ['create', '--refused'], { CONSENTCTL_SITE: 'Shop' } as Record<string, string>],
    ['create, of a file', ['create', '--file', '-', '--site', 'Shop', '--no-batch']],
  ])('%s sends its id', async (_, args, env = {}) => {
    listing()
    cli.instance.use(
      answers('post', consentsPath, consent(), 201),
      answers('get', '*/api/v1/openapi.json', {}),
      answers('get', '*/api/v1/usage', {}, 404),
    )
    expect(await cli.run(args, { env, stdin: '{"subject_id":"a"}\n' })).toMatchObject({ code: 0 })
    const bodies = cli.sent().flatMap(({ body }) => (body === undefined ? [] : [body]))
    expect(bodies).toMatchObject([{ site_id: site }])
    expect(sent().filter(each => each === 'GET /api/v1/sites')).toHaveLength(1)
  })

  it('when the key may not list sites, exits with an error that asks for the id', async () => {
    cli.instance.use(answers('get', sitesPath, { error: 'forbidden', message: 'no', reason: 'missing_scope' }, 403))
    for (const args of [['--refused'], ['--file', '-']]) {
      const { code, stderr } = await cli.run(['create', '--site', 'Shop', ...args], { stdin: '{}\n' })
      expect(code).toBe(4)
      expect(stderr).toContain('why: "Shop" is the name of a site, and finding its id needs the scope read\n')
      expect(stderr).toContain('try: use the id of the site')
    }
    expect(new Set(sent())).toEqual(new Set(['GET /api/v1/sites']))
  })

  it('filters list; a UUID needs no request', async () => {
    listing()
    cli.instance.use(listOf(1))
    expect(await cli.run(['list', '--site', 'Shop'])).toMatchObject({ code: 0 })
    expect(await cli.run(['list', '--site', site])).toMatchObject({ code: 0 })
    expect(sent()).toEqual(['GET /api/v1/sites', 'GET /api/v1/consents', 'GET /api/v1/consents'])
    for (const { path, query } of cli.sent()) if (path.endsWith('consents')) expect(query['site_id']).toBe(site)
  })

  it.each([
    ['shop', 'no site is named "shop"', 'did you mean "Shop"?'],
    ['Shpo', 'no site is named "Shpo"', 'sites: "Shop", "Blog"'],
    ['My Shop', 'no site is named "My Shop"', 'did you mean "Shop"?'],
    ['Cinema', 'no site is named "Cinema"', 'sites: "Shop", "Blog"'],
  ])('when no site has it (%s), exits with 5 and lists sites', async (name, message, hint) => {
    listing()
    expectNoStdout(await cli.run(['list', '--site', name, '--json']), 5, { message, hint, code: 'invalid_data' })
    expect(sent()).toEqual(['GET /api/v1/sites'])
  })

  it('when several sites have it, exits with 5 and their ids', async () => {
    listing([siteOf(), siteOf({ id: uuid(2) })])
    const { code, stderr } = await cli.run(['create', '--site', 'Shop', '--refused', '--json'])
    expect(code).toBe(5)
    expect(machineError(stderr)).toMatchObject({
      message: '2 sites are named "Shop"',
      hint: `use an id: ${site}, ${uuid(2)}`,
    })
  })

  it('works in sites update and sites rotate-token', async () => {
    cli.instance.use(
      signsIn(),
      managing('get', sitesPath, () => ({ data: [siteOf()] })),
      managing('patch', `${sitesPath}/:id`, ({ id }) => siteOf({ id })),
    )
    expect(await runAs(cli, ['sites', 'update', 'Shop', '--policy-version', '4'])).toMatchObject({ code: 0 })
    expect(sent().at(-1)).toBe(`PATCH /api/v1/sites/${site}`)
    expect(await runAs(cli, ['sites', 'rotate-token', 'Shopp'])).toMatchObject({ code: 5, stdout: '' })
  })
})

it('when create finds no site, explains that the site comes from the profile and how to change it', async () => {
  cli.instance.use(answers('post', consentsPath, { error: 'not_found', message: 'There is no such site.' }, 404))
  const folder = cli.freshFolder()
  const env = { CONSENTCTL_CONFIG_DIR: folder }
  await cli.run(['config', 'set', 'base_url', cli.instance.url, '-p', 'shop'], { env })
  sixRoutes()
  expect(await cli.run(['config', 'set', 'site', uuid(5), '-p', 'shop'], { env })).toMatchObject({ code: 0 })
  const blamed = await cli.run(['create', '--refused', '--json', '-p', 'shop'], { env })
  expect(blamed.code).toBe(3)
  expect(machineError(blamed.stderr)).toMatchObject({
    code: 'not_found',
    message: 'There is no such site.',
    hint: 'consentctl config set site SITE -p shop; consentctl sites list shows them',
  })
  const told = await cli.run(['create', '--refused', '-p', 'shop'], { env })
  expect(told.stderr).toContain(`why: the site ${uuid(5)} came from the profile shop`)
  const named = await cli.run(['create', '--refused', '--site', uuid(6), '-p', 'shop'], { env })
  expect(named.stderr).not.toContain('came from')
})

describe.each([['with a key'], ['with --email']])('auth login --site %s', how => {
  const login = async (name: string) => {
    const folder = cli.freshFolder()
    const env = { CONSENTCTL_CONFIG_DIR: folder, CONSENTCTL_API_KEY: undefined }
    const args = ['auth', 'login', '--site', name, '--json=']
    const { code, stderr } = await (how === 'with --email'
      ? runAs(cli, args.slice(0, -1), { env })
      : cli.run([...args.slice(0, -1), '--with-key'], { env, stdin: apiKey }))
    const file = join(folder, 'config.json')
    return { code, stderr, stored: existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')).profiles.default : null }
  }
  const instance = (sites: Response | object) => {
    if (how === 'with a key')
      cli.instance.use(listOf(1), answers('get', sitesPath, sites, 'error' in sites ? 404 : 200))
    else
      cli.instance.use(
        signsIn(),
        managing('get', sitesPath, () => ('error' in sites ? fails(404, 'not_found') : sites)),
        managing('post', keysPath, () => ({ ...apiKeyOf(), key: newKey })),
      )
  }

  it('stores the id of the site with this name', async () => {
    instance({ data: [siteOf()] })
    expect(await login('Shop')).toMatchObject({ code: 0, stored: { site } })
  })

  it('stores nothing and creates no key if no site has the name (5) or the id (3)', async () => {
    instance({ data: [siteOf()] })
    expect(await login('Shpo')).toMatchObject({ code: 5, stored: null })
    expect(await login(uuid(9))).toMatchObject({ code: 3, stored: null })
    expect(sent()).not.toContain('POST /api/v1/keys')
  })

  it('when the instance lists no sites, accepts a UUID unchecked and says so, but no name (2)', async () => {
    instance({ error: 'not_found', message: 'x' })
    const { code, stderr, stored } = await login(uuid(9))
    expect({ code, site: stored.site }).toEqual({ code: 0, site: uuid(9) })
    expect(stderr).toContain('note: the site is not checked')
    expect(await login('Shop')).toMatchObject({ code: 2, stored: null, stderr: expect.stringContaining('not_offered') })
  })
})

describe('config set site', () => {
  const set = async (name: string, baseUrl = cli.instance.url) => {
    const env = { CONSENTCTL_CONFIG_DIR: cli.freshFolder(), CONSENTCTL_BASE_URL: baseUrl }
    const ran = await cli.run(['config', 'set', 'site', name], { env })
    return { ...ran, site: (await cli.run(['config', 'get', 'site'], { env })).stdout.trim() }
  }

  it('stores the id of the site with this name, or nothing', async () => {
    listing()
    expect(await set('Blog')).toMatchObject({ code: 0, site: uuid(2) })
    expect(await set('Blgo')).toMatchObject({ code: 5, site: '' })
    expect(await set(uuid(2))).toMatchObject({ code: 0, site: uuid(2) })
    expect(await set(uuid(3))).toMatchObject({ code: 3, site: '' })
  })

  it('when the instance is unreachable, stores a UUID but no name, and says so', async () => {
    sixRoutes()
    expect(await set(uuid(3))).toMatchObject({
      code: 0,
      site: uuid(3),
      stderr: expect.stringContaining('is not checked'),
    })
    expect(await set('Blog')).toMatchObject({ code: 2, site: '', stderr: expect.stringContaining('not_offered') })
    const nowhere = 'http://127.0.0.1:9'
    expect(await set(uuid(3), nowhere)).toMatchObject({ code: 0, site: uuid(3) })
    expect(await set('Blog', nowhere)).toMatchObject({ code: 2, site: '' })
  })
})
