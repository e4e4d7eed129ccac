import { HttpResponse, http } from 'msw'
import { describe, expect, it } from 'vitest'
import { answers, byId, consent, expectUnsent, fails, useCli, uuid } from '../../support.ts'

const cli = useCli()
const id = uuid(9)
const before = consent({ id, preferences: { marketing: true, analytics: 'all', 'a.b': [1] } })

function accepting() {
  cli.instance.use(
    answers('get', byId, before),
    http.put(byId, async ({ request }) => {
      const change = (await request.json()) as object
      return HttpResponse.json({ ...before, ...change })
    }),
  )
}

const update = (...args: string[]) => cli.run(['update', id, ...args])

describe('acceptance', () => {
  it.each([
    ['--accepted', true],
    ['--refused', false],
  ])('%s alone sends one PUT without preferences', async (flag, accepted) => {
    accepting()
    expect(await update(flag)).toMatchObject({ code: 0 })
    expect(cli.sent()).toEqual([{ method: 'PUT', path: `/api/v1/consents/${id}`, query: {}, body: { accepted } }])
  })
})

describe('update › circumstances', () => {
  it('are sent with the answer', async () => {
    accepting()
    await update('--refused', '--method', 'phone', '--note', 'called back')
    expect(cli.sent()[0]?.body).toEqual({ accepted: false, circumstances: { method: 'phone', note: 'called back' } })
  })

  it.each([
    [['--relation', 'mother'], '--relation needs given_by guardian or agent'],
    [['--form-sha256', 'f2'.repeat(32)], '--form-sha256 needs form'],
    [['--method', 'fax'], '--method must be web, app, phone, paper, verbal or import'],
    [['--confirmed-at', 'soon'], 'invalid time "soon"'],
  ])('%j exits with 2, and nothing is sent', async (flags, message) => {
    expectUnsent(cli, await update('--refused', ...flags), message)
  })

  it('without an answer are nothing to change', async () => {
    expectUnsent(cli, await update('--method', 'phone'), 'nothing to change')
  })
})

describe('update › preferences', () => {
  it('are merged into the stored ones, and the difference is shown', async () => {
    accepting()
    const { code, stderr, stdout } = await update('--pref', 'marketing=false', '--pref', 'new=1', '-o', 'json')
    expect(code).toBe(0)
    const preferences = { marketing: false, analytics: 'all', 'a.b': [1], new: 1 }
    expect(cli.sent()).toMatchObject([{ method: 'GET' }, { method: 'PUT', body: { preferences } }])
    expect(cli.sent()[1]?.body).toEqual({ preferences })
    expect(stderr).toContain('marketing: true → false\nnew: none → 1\n')
    expect(stderr).not.toContain('analytics')
    expect(JSON.parse(stdout)).toEqual({ ...before, preferences })
  })

  it('shows a difference between a text and the value that it looks like', async () => {
    accepting()
    const { stderr } = await cli.run(['update', id, '--preferences', '-'], {
      stdin: '{"marketing":"true","analytics":"none"}',
    })
    expect(stderr).toContain('marketing: true → "true"\nanalytics: all → "none"\n')
  })

  it('are merged from a file; individual ones take precedence', async () => {
    accepting()
    await cli.run(['update', id, '--preferences', '-', '--pref', 'b=2'], { stdin: '{"a":1,"b":1}' })
    expect(cli.sent()[1]?.body).toEqual({ preferences: { ...before.preferences, a: 1, b: 2 } })
  })

  it('with --replace-preferences, replace the stored ones without a read', async () => {
    accepting()
    expect(await update('--pref', 'only=1', '--replace-preferences', '--accepted')).toMatchObject({ code: 0 })
    expect(cli.sent()).toMatchObject([{ method: 'PUT' }])
    expect(cli.sent()[0]?.body).toEqual({ accepted: true, preferences: { only: 1 } })
  })

  it('preferences are set when the record has none', async () => {
    cli.instance.use(answers('get', byId, { id, accepted: true, created_at: 'x' }), answers('put', byId, before))
    expect(await update('--pref', 'a=1')).toMatchObject({ code: 0 })
    expect(cli.sent()[1]?.body).toEqual({ preferences: { a: 1 } })
  })

  it('preferences are not written when the record cannot be read', async () => {
    cli.instance.use(http.get(byId, () => fails(404, 'not_found')))
    expect(await update('--pref', 'a=1')).toMatchObject({ code: 3, stdout: '' })
    expect(cli.sent()).toMatchObject([{ method: 'GET' }])
  })
})

describe('update › rejected arguments', () => {
  it.each([
    [[], 'nothing to change'],
    [['--replace-preferences'], 'nothing to change'],
    [['--accepted', '--replace-preferences'], '--replace-preferences requires'],
    [['--accepted', '--refused'], 'cannot be combined'],
    [['--preferences', 'x.json'], '@FILE'],
  ])('rejects %j before any request', async (flags, said) => {
    expectUnsent(cli, await update(...flags), said)
  })

  it.each(['', '.', '..'])('rejects the id %j before any request', async bad => {
    expectUnsent(cli, await cli.run(['update', bad, '--accepted']))
  })
})
