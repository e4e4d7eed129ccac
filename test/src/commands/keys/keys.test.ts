import { HttpResponse } from 'msw'
import { describe, expect, it } from 'vitest'
import { apiKeyOf, keysPath, managed, newKey, runAs, signedIn, siteOf, sitesPath } from '../../session-fixtures.ts'
import {
  expectExit,
  expectNoStdout,
  expectUnsent,
  fails,
  machineError,
  ndjson,
  screen,
  useCli,
  uuid,
} from '../../support.ts'

const cli = useCli()
const keyPath = `${keysPath}/:id`

function holding(data = [apiKeyOf(), apiKeyOf({ id: uuid(2), name: 'old', revoked_at: '2026-01-31T10:00:00.000Z' })]) {
  signedIn(cli, 'get', keysPath, () => ({ data }))
  return data
}

describe('keys list', () => {
  it('prints these columns in TSV', async () => {
    holding()
    const tsv = await runAs(cli, ['keys', 'list', '--header'])
    expect(tsv.stdout.split('\n').slice(0, 2)).toEqual([
      'id\tname\thint\tscopes\tsite_ids\tcreated_at\texpires_at\tlast_used_on\trevoked_at\tcreated_by\tstate',
      `${uuid(0x4e1)}\tbackend\ta1b2\t["read","write"]\t\t2026-01-31T09:30:00.000Z\t\t2026-02-01\t\tprivacy@example.com\tactive`,
    ])
  })

  it('prints a table with the last characters of each key, its scopes and state, and the count', async () => {
    holding()
    const { code, stdout, stderr } = await runAs(cli, ['keys', 'list'], { ...screen, columns: 160 })
    expect(code).toBe(0)
    expect(stdout).toMatch(/^.*ID +STATE +NAME +HINT +SCOPES +REVOKED_AT +CREATED_BY +LAST_USED_ON +CREATED_AT/)
    expect(stdout).toMatch(
      /active +backend +sk-…a1b2 +read,write +privacy@example\.com +2026-02-01 +2026-01-31 09:30Z\n/,
    )
    expect(stdout).toMatch(/old .* 2026-01-31 10:00Z +privacy@example\.com +2026-02-01/)
    expect(stderr).toBe('2 keys\n')
  })

  it('shows in 80 columns which keys are revoked or expired', async () => {
    const past = '2026-01-31T10:00:00.000Z'
    holding([apiKeyOf(), apiKeyOf({ id: uuid(2), revoked_at: past }), apiKeyOf({ id: uuid(3), expires_at: past })])
    const { stdout } = await runAs(cli, ['keys', 'list', '--color', 'never'], { ...screen, columns: 80 })
    const states = stdout.split('\n').map(line => /^\S+ +(\w+)/.exec(line)?.[1])
    expect(states.slice(0, 4)).toEqual(['STATE', 'active', 'revoked', 'expired'])
  })

  it('when the instance has no such route, exits with 3 and says so', async () => {
    signedIn(cli, 'get', keysPath, () => fails(404, 'not_found', 'no such route'))
    const ran = await runAs(cli, ['keys', 'list'])
    expectExit(ran, 3, 'error: no such route (not_found)\ntry: this instance may not have this feature')
  })
})

describe('keys create', () => {
  function making() {
    signedIn(cli, 'post', keysPath, ({ body }) => ({
      ...apiKeyOf({ name: String(body['name']) }),
      key: newKey,
    }))
  }
  const create = (...more: string[]) => runAs(cli, ['keys', 'create', '--name', 'ci', ...more])

  it('sends only the given fields', async () => {
    making()
    await create()
    expect(managed(cli)).toMatchObject([{ method: 'POST', path: '/api/v1/keys', body: { name: 'ci' } }])
    expect(managed(cli)[0]?.body).toEqual({ name: 'ci' })
  })

  it.each([
    [['--scope', 'read'], ['read']],
    [
      ['--scope', 'read,erase'],
      ['read', 'erase'],
    ],
    [
      ['--scope', 'read', '--scope', 'write,erase'],
      ['read', 'write', 'erase'],
    ],
  ])('accepts repeated and comma-separated scopes: %j', async (flags, scopes) => {
    making()
    expect(await create(...flags)).toMatchObject({ code: 0 })
    expect(managed(cli)[0]?.body).toEqual({ name: 'ci', scopes })
  })

  it.each([
    ['2126-01-31', '2126-01-31T23:59:59.999Z'],
    ['2126-01-31T09:30:00+02:00', '2126-01-31T09:30:00+02:00'],
  ])('sends the time of --expires: %s', async (time, expires_at) => {
    making()
    expect(await create('--expires', time)).toMatchObject({ code: 0 })
    expect(managed(cli)[0]?.body).toEqual({ name: 'ci', expires_at })
  })

  it('restricts the key to sites, by name or id, each once', async () => {
    making()
    const [shop, blog] = [siteOf({ id: uuid(7), name: 'Shop' }), siteOf({ id: uuid(8), name: 'Blog' })]
    signedIn(cli, 'get', sitesPath, () => ({ data: [shop, blog] }))
    expect(await create('--site', 'Shop', '--site', uuid(8), '--site', 'Blog')).toMatchObject({ code: 0 })
    expect(managed(cli).at(-1)?.body).toEqual({ name: 'ci', site_ids: [uuid(7), uuid(8)] })
    expectExit(await create('--site', 'Forum'), 5, 'no site is named "Forum"')
  })

  it('accepts a duration as the time from now', async () => {
    making()
    const before = Date.now()
    expect(await create('--expires', '90d')).toMatchObject({ code: 0 })
    const starts = managed(cli).map(({ body }) => {
      const { expires_at } = body as { expires_at: string }
      return Date.parse(expires_at) - 90 * 24 * 3_600_000
    })
    expect(starts).toHaveLength(1)
    expect(Math.min(...starts)).toBeGreaterThanOrEqual(before)
    expect(Math.max(...starts)).toBeLessThanOrEqual(Date.now())
  })

  it.each([
    [['--scope', 'admin'], 'must be one of read, write, erase'],
    [['--scope', ''], 'must be one of'],
    [['--scope', 'read,'], 'must be one of'],
    [['--scope', 'read,read'], 'twice'],
    [['--expires', '2020-01-01'], 'in the past'],
    [['--expires', '0d'], 'in the past'],
    [['--expires', 'tomorrow'], 'invalid time'],
    [['--expires', '999999w'], 'invalid time'],
    [['--expires', ''], 'must not be empty'],
    [['-q'], 'would lose the secret'],
    [['-o', 'id'], 'would lose the secret'],
  ])('rejects %j with exit code 2 before any request', async (flags, said) => {
    expectUnsent(cli, await create(...flags), said)
  })

  it.each(['', 'x'.repeat(101)])('rejects the name %j with exit code 2 before any request', async name => {
    expect(await runAs(cli, ['keys', 'create', '--name', name])).toMatchObject({ code: 2, stdout: '' })
    expectUnsent(cli, await runAs(cli, ['keys', 'create']))
  })

  it.each([['table'], ['tsv'], ['json'], ['ndjson']])(
    'prints the full key once, only on standard output: %s',
    async format => {
      making()
      const { code, stdout, stderr } = await runAs(cli, ['keys', 'create', '--name', 'ci', '-o', format], {
        ...screen,
        columns: 40,
      })
      expect(code).toBe(0)
      expect(stdout.split(newKey)).toHaveLength(2)
      expect(stderr).not.toContain(newKey)
      expect(stderr).toContain(`created key ${uuid(0x4e1)} on default@${new URL(cli.instance.url).host}`)
    },
  )

  it('when the response is lost, exits with 11 and says how to check', async () => {
    signedIn(cli, 'post', keysPath, () => fails(500, 'internal_error'))
    const { code, stderr } = await create('--json')
    expect(code).toBe(11)
    expect(machineError(stderr)).toMatchObject({
      hint: expect.stringContaining('keys list'),
      retryable: false,
    })
  })
})

describe('keys revoke', () => {
  const at = '2026-02-03T00:00:00.000Z'
  function revoking() {
    signedIn(cli, 'delete', keyPath, ({ id }) => {
      if (id.startsWith('missing')) return fails(404, 'not_found', 'x')
      if (id === 'ended') return fails(401, 'unauthorized', 'x')
      return HttpResponse.json(apiKeyOf({ id, revoked_at: at }))
    })
  }
  const revoked = () => managed(cli).map(({ method, path }) => `${method} ${path.split('/').at(-1)}`)

  it('with --yes revokes each id once, in order, and prints the instance’s responses', async () => {
    revoking()
    const { code, stdout, stderr } = await runAs(cli, ['keys', 'revoke', 'b', 'a', 'b', '--yes', '-o', 'ndjson'])
    expect(code).toBe(0)
    expect(revoked()).toEqual(['DELETE b', 'DELETE a'])
    const rows = ndjson(stdout)
    expect(rows).toEqual(['b', 'a'].map(id => apiKeyOf({ id, revoked_at: at })))
    expect(stderr).toBe(`revoked 2 keys on default@${new URL(cli.instance.url).host}\n`)
  })

  it('without --yes and without a terminal, exits with 2 before any request', async () => {
    expectUnsent(cli, await runAs(cli, ['keys', 'revoke', 'a']), '--yes')
  })

  it.each(['', '.', '..'])('rejects the id %j before any request', async id => {
    expectUnsent(cli, await runAs(cli, ['keys', 'revoke', 'a', id, '--yes']))
  })

  it('when the key does not exist, exits with 3 and names it as a key', async () => {
    revoking()
    const ran = await runAs(cli, ['keys', 'revoke', 'missing', '--yes'])
    expectNoStdout(ran, 3, 'error: no key with id missing (not_found)\ntry: consentctl keys list')
  })

  it('when the response is lost, can be retried', async () => {
    signedIn(cli, 'delete', keyPath, () => fails(500, 'internal_error'))
    expect(await runAs(cli, ['keys', 'revoke', 'a', '--yes'])).toMatchObject({ code: 7, stdout: '' })
  })
})
