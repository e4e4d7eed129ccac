import { http } from 'msw'
import { describe, expect, it } from 'vitest'
import { managed, runAs, signedIn } from '../session-fixtures.ts'
import { answers, apiKey, fails, jsonOf, useCli } from '../support.ts'

const cli = useCli()
const path = '*/api/v1/usage'
const used = {
  month: '2026-11',
  used: 812,
  limit: 10_000,
  remaining: 9188,
  resets_at: '2026-12-01T00:00:00.000Z',
}

describe('with the API key', () => {
  it('prints one record, with one request and no password', async () => {
    cli.instance.use(answers('get', path, used))
    expect(jsonOf(await cli.run(['usage', '--json']), 0, '')).toEqual(used)
    expect(cli.instance.requests).toMatchObject([
      { method: 'GET', url: '/api/v1/usage', headers: { authorization: `Bearer ${apiKey}` } },
    ])
    expect((await cli.run(['usage', '--header'])).stdout).toBe(
      'month\tused\tlimit\tremaining\tresets_at\n2026-11\t812\t10000\t9188\t2026-12-01T00:00:00.000Z\n',
    )
  })

  it('does not prompt for a password because of a stored e-mail', async () => {
    cli.instance.use(answers('get', path, used))
    expect(await cli.run(['usage'], { env: { CONSENTCTL_EMAIL: 'maria@example.com' } })).toMatchObject({
      code: 0,
    })
  })

  it('reports that there is no limit', async () => {
    cli.instance.use(answers('get', path, { ...used, limit: null, remaining: null }))
    const { stdout, stderr } = await cli.run(['usage', '--json'])
    expect(JSON.parse(stdout)).toMatchObject({ limit: null, remaining: null })
    expect(stderr).toBe('the account has no monthly limit\n')
  })

  it('shows the numbers of a quota that is used up, and exits with 0', async () => {
    cli.instance.use(answers('get', path, { ...used, limit: 812, remaining: 0 }))
    const { code, stdout, stderr } = await cli.run(['usage', '--json'])
    expect({ code, stderr }).toEqual({ code: 0, stderr: 'this month’s quota is used up, until 2026-12-01\n' })
    expect(JSON.parse(stdout)).toMatchObject({ limit: 812, remaining: 0 })
  })

  it.each([
    ['missing_scope', 'try: use a key with the required scope'],
    [undefined, 'try: check the scopes of the key: consentctl keys list'],
  ])('reports a 403 with the reason %s without calling the key invalid', async (reason, hint) => {
    cli.instance.use(http.get(path, () => fails(403, 'forbidden', 'the key has no scope "read"', reason)))
    const { stderr } = await cli.run(['usage'])
    expect(stderr).toContain(hint)
    expect(stderr).toContain('why: the key came from CONSENTCTL_API_KEY')
  })
})

it('with --email, uses a session, which has no quota', async () => {
  signedIn(cli, 'get', path, () => used)
  expect(jsonOf(await runAs(cli, ['usage', '--json']))).toEqual(used)
  expect(managed(cli)).toMatchObject([{ method: 'GET', path: '/api/v1/usage' }])
})
