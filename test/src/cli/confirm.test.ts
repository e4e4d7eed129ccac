import { HttpResponse, http } from 'msw'
import { describe, expect, it } from 'vitest'
import {
  answers,
  byId,
  consent,
  expectExit,
  expectNoStdout,
  expectUnsent,
  fails,
  ndjson,
  site,
  useCli,
} from '../support.ts'

const cli = useCli()

/** Makes the instance hold the records a, b and c. */
function holding() {
  const there = new Set(['a', 'b', 'c'])
  cli.instance.use(
    http.get(byId, ({ params: { id } }) =>
      there.has(String(id)) ? HttpResponse.json(consent({ id: String(id) })) : fails(404, 'not_found'),
    ),
    http.delete(byId, ({ params: { id } }) =>
      there.delete(String(id)) ? HttpResponse.json(consent({ id: String(id) })) : fails(404, 'not_found'),
    ),
  )
}

const deleted = () =>
  cli
    .sent()
    .filter(({ method }) => method === 'DELETE')
    .map(({ path }) => path.split('/').at(-1))

describe('rm --confirm N', () => {
  it('deletes if exactly N records match', async () => {
    holding()
    const { code, stdout } = await cli.run(['rm', '-', '--confirm', '2', '-q'], { stdin: 'a\nb\na\n' })
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'a\nb\n' })
    expect(deleted()).toEqual(['a', 'b'])
  })

  it.each([
    ['more records', ['a', 'b', 'c'], '2', '3 records match, not 2'],
    ['fewer records', ['a', 'gone'], '2', '1 record matches, not 2'],
    ['no record', ['gone'], '1', '0 records match, not 1'],
  ])('when %s match, deletes nothing and exits with 10', async (_, ids, count, said) => {
    holding()
    expectNoStdout(await cli.run(['rm', ...ids, '--confirm', count, '--yes']), 10, said)
    expect(deleted()).toEqual([])
  })

  it.each(['0', '-1', 'all', '1.5'])('rejects the number %j before any request', async count => {
    expectUnsent(cli, await cli.run(['rm', 'a', '--confirm', count]))
  })

  it('when a record cannot be read, deletes nothing', async () => {
    cli.instance.use(http.get(byId, () => fails(401, 'unauthorized')))
    expect(await cli.run(['rm', 'a', '--confirm', '1'])).toMatchObject({ code: 4, stdout: '' })
    expect(deleted()).toEqual([])
  })
})

describe('rm --ignore-missing', () => {
  it('skips missing records and prints the deleted ones', async () => {
    holding()
    const { code, stdout, stderr } = await cli.run(['rm', 'a', 'gone', 'b', '--yes', '--ignore-missing', '-q'])
    expect({ code, stdout, stderr }).toEqual({ code: 0, stdout: 'a\nb\n', stderr: '' })
  })

  it('reports the number of deleted records, not of requested ones', async () => {
    holding()
    expectExit(await cli.run(['rm', 'gone', 'c', '--yes', '--ignore-missing']), 0, 'deleted 1 record on')
  })

  it('when all records are missing, exits with 0', async () => {
    holding()
    expect(await cli.run(['rm', 'gone', '--yes', '--ignore-missing', '-q'])).toMatchObject({
      code: 0,
      stdout: '',
    })
  })

  it('does not ignore other errors', async () => {
    cli.instance.use(http.delete(byId, () => fails(403, 'forbidden')))
    expect(await cli.run(['rm', 'a', '--yes', '--ignore-missing'])).toMatchObject({ code: 4 })
  })
})

describe('a protected profile', () => {
  const isProtected = async () => {
    expect((await cli.run(['config', 'set', 'base_url', cli.instance.url, '-p', 'live'])).code).toBe(0)
    expect((await cli.run(['config', 'set', 'protected', 'true', '-p', 'live'])).code).toBe(0)
  }

  it('rejects --yes without --confirm before any request', async () => {
    await isProtected()
    expectUnsent(cli, await cli.run(['rm', 'a', '--yes', '-p', 'live']), 'profile live is protected', '--confirm')
  })

  it('accepts --confirm with the correct number', async () => {
    await isProtected()
    holding()
    expect(await cli.run(['rm', 'a', '--yes', '--confirm', '1', '-p', 'live', '-q'])).toMatchObject({
      code: 0,
      stdout: 'a\n',
    })
  })
})

describe('--dry-run', () => {
  it.each([
    [
      'rm a b --yes',
      [
        ['DELETE', '/api/v1/consents/a', null],
        ['DELETE', '/api/v1/consents/b', null],
      ],
    ],
    ['rm a', [['DELETE', '/api/v1/consents/a', null]]],
    [
      `create --site ${site} --subject maria --accepted --pref a=1`,
      [['POST', '/api/v1/consents', { site_id: site, subject_id: 'maria', accepted: true, preferences: { a: 1 } }]],
    ],
    ['update a --refused', [['PUT', '/api/v1/consents/a', { accepted: false }]]],
    ['keys create --name ci --scope read', [['POST', '/api/v1/keys', { name: 'ci', scopes: ['read'] }]]],
    ['keys revoke k', [['DELETE', '/api/v1/keys/k', null]]],
    ['sites create --name Shop', [['POST', '/api/v1/sites', { name: 'Shop' }]]],
    [`sites update ${site} --name Shop`, [['PATCH', `/api/v1/sites/${site}`, { name: 'Shop' }]]],
    [`sites rotate-token ${site} --overlap 0`, [['POST', `/api/v1/sites/${site}/token`, { overlap_hours: 0 }]]],
  ])('prints the requests of "%s" without sending them', async (line, requests) => {
    const { code, stdout, stderr } = await cli.run([...line.split(' '), '--dry-run', '-o', 'ndjson'])
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(ndjson(stdout)).toEqual(
      requests.map(([method, path, body]) => ({ method, url: cli.instance.url + path, body })),
    )
    expect(cli.sent()).toEqual([])
  })

  it('reads the record to merge into, and changes nothing', async () => {
    cli.instance.use(answers('get', byId, consent({ preferences: { a: 1, b: 2 } })))
    const { stdout } = await cli.run(['update', 'x', '--pref', 'b=3', '--dry-run', '--json'])
    expect(JSON.parse(stdout)).toMatchObject({ method: 'PUT', body: { preferences: { a: 1, b: 3 } } })
    expect(cli.sent().map(({ method }) => method)).toEqual(['GET'])
  })
})
