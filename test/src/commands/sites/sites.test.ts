import { describe, expect, it } from 'vitest'
import { managed, managing, newToken, runAs, signedIn, siteOf, sitesPath } from '../../session-fixtures.ts'
import {
  expectExit,
  expectNoStdout,
  expectUnsent,
  fails,
  jsonOf,
  machineError,
  screen,
  useCli,
  uuid,
} from '../../support.ts'

const cli = useCli()
const sitePath = `${sitesPath}/:id`
const tokenPath = `${sitePath}/token`
const { id } = siteOf()
const shop = 'https://shop.example'

const bodies = () => managed(cli).flatMap(({ body }) => (body === undefined ? [] : [body]))

function holding(data = [siteOf(), siteOf({ id: uuid(2), name: 'Blog', allowed_origins: [] })]) {
  signedIn(cli, 'get', sitesPath, () => ({ data }))
  return data
}

describe('sites list', () => {
  it('prints these columns in TSV', async () => {
    holding()
    const { stdout } = await runAs(cli, ['sites', 'list', '--header'])
    expect(stdout.split('\n')[0]).toBe(
      'id\tname\tpolicy_version\tallowed_origins\tcreated_at\tupdated_at\tretention\tstrict_notices\tarchived_at\tsealed_proof',
    )
  })

  it('prints a table and the number of sites on a terminal', async () => {
    holding()
    const { stdout, stderr } = await runAs(cli, ['sites', 'list'], { ...screen, columns: 160 })
    expect(stdout).toMatch(/Shop +3 +https:\/\/shop\.example https:\/\/www\.shop\.example +2026-01-31 09:30Z/)
    expect(stderr).toBe('2 sites\n')
  })
})

describe('sites create', () => {
  function making() {
    signedIn(cli, 'post', sitesPath, () => ({ ...siteOf(), token: newToken }))
  }
  const create = (...more: string[]) => runAs(cli, ['sites', 'create', '--name', 'Shop', ...more])

  it.each([
    [[], {}],
    [['--policy-version', '3'], { policy_version: 3 }],
    [['--retain', '3y', '--after', 'withdrawal'], { retention: { period: 'P3Y', after: 'withdrawal' } }],
    [['--allow-duplicate'], { allow_duplicate: true }],
    [['--origin', shop, '--origin', 'http://localhost:3000'], { allowed_origins: [shop, 'http://localhost:3000'] }],
  ])('sends only the given fields: %j', async (flags, fields) => {
    making()
    expect(await create(...flags)).toMatchObject({ code: 0 })
    expect(bodies()).toEqual([{ name: 'Shop', ...fields }])
  })

  it.each([['table'], ['tsv'], ['json'], ['ndjson']])(
    'prints the full token once, only on standard output: %s',
    async format => {
      making()
      const args = ['sites', 'create', '--name', 'Shop', '-o', format]
      const { code, stdout, stderr } = await runAs(cli, args, { ...screen, columns: 40 })
      expect(code).toBe(0)
      expect(stdout.split(newToken)).toHaveLength(2)
      expect(stderr).toBe(`created site ${id} on default@${new URL(cli.instance.url).host}\n`)
    },
  )

  it.each([
    [['--origin', 'shop.example'], '--origin must be an origin'],
    [['--origin', `${shop}/`], '--origin must be an origin'],
    [['--origin', ''], '--origin must be an origin'],
    [['--origin', shop, '--origin', shop], 'twice'],
    [['--policy-version', '0'], '--policy-version must be'],
    [['--policy-version', '2147483648'], '--policy-version must be from 1 to 2147483647'],
    [['-q'], 'would lose the secret'],
  ])('rejects %j with exit code 2 before any request', async (flags, said) => {
    expectUnsent(cli, await create(...flags), said)
  })

  it('when the response is lost, exits with 11 and says how to check', async () => {
    signedIn(cli, 'post', sitesPath, () => fails(500, 'internal_error'))
    expectExit(await create('--json'), 11, { hint: expect.stringContaining('consentctl sites list') })
  })

  it('when the name is taken, suggests the flag for a second site', async () => {
    signedIn(cli, 'post', sitesPath, () => fails(409, 'conflict', 'no', 'name_taken'))
    expectExit(await create('--json'), 5, { hint: 'use another name, or --allow-duplicate' })
  })
})

describe('sites archive', () => {
  const archived = siteOf({ id: uuid(3), archived_at: '2026-02-01T00:00:00.000Z' })
  const archive = (...args: string[]) => runAs(cli, ['sites', 'archive', ...args])

  it('when two sites have the name, archives the active one, and --undo restores the archived one', async () => {
    holding([siteOf(), archived])
    cli.instance.use(managing('patch', sitePath, asked => siteOf({ id: asked.id })))
    expect((await archive('Shop')).code).toBe(2)
    expect(await archive('Shop', '--yes')).toMatchObject({ code: 0 })
    expect((await archive('Shop', '--undo', '--allow-duplicate')).code).toBe(0)
    const sent = managed(cli).map(({ path, query, body }) => [path.split('/').at(-1), query, body])
    expect(sent.filter(([last]) => last !== 'session')).toEqual([
      ['sites', {}, undefined],
      [id, {}, { archived: true }],
      ['sites', { include_archived: 'true' }, undefined],
      [archived.id, {}, { archived: false, allow_duplicate: true }],
    ])
  })
})

describe('sites update', () => {
  function changing() {
    holding()
    cli.instance.use(managing('patch', sitePath, () => siteOf({ name: 'changed' })))
  }
  const update = (...more: string[]) => runAs(cli, ['sites', 'update', id, ...more])

  it.each([
    [['--name', 'New'], { name: 'New' }],
    [['--policy-version', '4'], { policy_version: 4 }],
    [['--strict-notices'], { strict_notices: true }],
    [['--no-strict-notices'], { strict_notices: false }],
    [
      ['--origin', 'https://a.example', '--origin', 'https://b.example'],
      { allowed_origins: ['https://a.example', 'https://b.example'] },
    ],
    [['--clear-origins'], { allowed_origins: [] }],
    [['--retain', 'P1Y6M', '--after', 'last-change'], { retention: { period: 'P1Y6M', after: 'last_change' } }],
    [['--clear-retention'], { retention: null }],
    [['--clear-origins', '--name', 'New'], { allowed_origins: [], name: 'New' }],
  ])('sends only the given fields, without reading first: %j', async (flags, body) => {
    changing()
    expect(jsonOf(await update(...flags, '--json'))).toEqual(siteOf({ name: 'changed' }))
    expect(managed(cli)).toMatchObject([{ method: 'PATCH', path: `/api/v1/sites/${id}` }])
    expect(bodies()).toEqual([body])
  })

  it.each([
    [
      ['--add-origin', 'https://c.example'],
      [shop, 'https://www.shop.example', 'https://c.example'],
    ],
    [
      ['--add-origin', shop],
      [shop, 'https://www.shop.example'],
    ],
    [['--remove-origin', shop], ['https://www.shop.example']],
    [['--remove-origin', shop, '--remove-origin', 'https://www.shop.example'], []],
    [
      ['--add-origin', 'https://c.example', '--remove-origin', shop],
      ['https://www.shop.example', 'https://c.example'],
    ],
  ])('adds and removes origins of the current list: %j', async (flags, allowed_origins) => {
    changing()
    expect(await update(...flags)).toMatchObject({ code: 0 })
    expect(bodies()).toEqual([{ allowed_origins }])
  })

  it('when an origin to remove is not in the list, says so', async () => {
    changing()
    const ran = await update('--remove-origin', 'https://shpo.example')
    expectExit(ran, 0, 'note: https://shpo.example was not an allowed origin')
    expect(bodies()).toEqual([{ allowed_origins: siteOf().allowed_origins }])
  })

  it.each([
    [[], 'nothing to change'],
    [['--origin', shop, '--add-origin', 'https://c.example'], 'cannot be combined'],
    [['--origin', shop, '--remove-origin', shop], 'cannot be combined'],
    [['--origin', shop, '--clear-origins'], 'cannot be combined'],
    [['--retain', '1d', '--after', 'expiry', '--clear-retention'], 'cannot be combined'],
    [['--retain', '3h', '--after', 'expiry'], 'invalid period "3h"'],
    [['--retain', '3y'], '--retain and --after need each other'],
    [['--clear-origins', '--add-origin', shop], 'cannot be combined'],
    [['--origin', ''], '--origin must be an origin'],
    [['--add-origin', 'x'], '--add-origin must be an origin'],
    [['--remove-origin', 'x'], '--remove-origin must be an origin'],
    [['--name', ''], '--name must not be empty'],
  ])('rejects %j with exit code 2 before any request', async (flags, said) => {
    expectUnsent(cli, await update(...flags), said)
  })

  it('when the site does not exist, exits with 3, with and without a read first', async () => {
    holding()
    cli.instance.use(managing('patch', sitePath, () => fails(404, 'not_found', 'x')))
    for (const flags of [
      ['--name', 'New'],
      ['--add-origin', shop],
    ]) {
      const ran = await runAs(cli, ['sites', 'update', uuid(9), ...flags])
      expectNoStdout(ran, 3, `error: no site with id ${uuid(9)} (not_found)`)
    }
  })
})

describe('sites rotate-token', () => {
  const rotated = { site_id: id, token: newToken, previous_valid_until: '2026-02-01T00:00:00.000Z' }
  function rotating() {
    signedIn(cli, 'post', tokenPath, () => rotated)
  }
  const rotate = (...more: string[]) => runAs(cli, ['sites', 'rotate-token', id, ...more])

  it.each([
    [[], {}],
    [['--overlap', '72'], { overlap_hours: 72 }],
    [['--overlap', '0', '--yes'], { overlap_hours: 0 }],
  ])('sends the given overlap: %j', async (flags, body) => {
    rotating()
    const { code, stdout, stderr } = await rotate(...flags, '--json')
    expect(code).toBe(0)
    expect(JSON.parse(stdout)).toEqual(rotated)
    expect(stderr).toBe(`issued a new token for site ${id} on default@${new URL(cli.instance.url).host}\n`)
    expect(managed(cli)).toMatchObject([{ method: 'POST', path: `/api/v1/sites/${id}/token`, body }])
    expect(bodies()).toEqual([body])
  })

  it.each([
    [['--overlap', '0'], '--yes'],
    [['--overlap', '721'], '--overlap must be from 0 to 720'],
    [['--overlap', '-1'], '--overlap must be'],
    [['--overlap', '1.5'], '--overlap must be'],
    [['--overlap', ''], '--overlap must be'],
    [['-o', 'id'], 'would lose the secret'],
  ])('rejects %j with exit code 2 before any request', async (flags, said) => {
    expectUnsent(cli, await rotate(...flags), said)
  })

  it('when the site does not exist, exits with 3; when the response is lost, exits with 11 and suggests a fix', async () => {
    signedIn(cli, 'post', tokenPath, asked =>
      asked.id === uuid(9) ? fails(404, 'not_found', 'x') : fails(503, 'unavailable', 'x'),
    )
    const missing = await runAs(cli, ['sites', 'rotate-token', uuid(9)])
    expect(missing).toMatchObject({ code: 3, stdout: '' })
    expect(missing.stderr).toContain(`error: no site with id ${uuid(9)}`)
    const lost = await rotate('--json')
    expect(lost).toMatchObject({ code: 11, stdout: '' })
    expect(machineError(lost.stderr)['hint']).toContain('rotate-token again')
  })
})
