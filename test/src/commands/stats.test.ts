import { stripVTControlCharacters } from 'node:util'
import { http } from 'msw'
import { describe, expect, it } from 'vitest'
import { answers, expectExit, fails, listOf, screen, site, useCli } from '../support.ts'

const cli = useCli()
const path = '*/api/v1/stats'
const countPath = '*/api/v1/stats/count'
const numbers = {
  records: 40,
  persons: 30,
  anonymous: 0,
  accepted: 30,
  refused: 10,
  withdrawn: 2,
  deleted: 1,
  hidden: null,
  imported: 7,
}
const none = {
  records: null,
  persons: null,
  anonymous: null,
  accepted: null,
  refused: null,
  withdrawn: null,
  deleted: null,
  imported: null,
}
const group = { site_id: null, site_name: null }
const found = {
  complete: true,
  as_of: null,
  total: { ...numbers, records: 60, persons: 41 },
  groups: [
    { group: 'DE', ...group, ...numbers },
    { group: 'FR', ...group, ...none, hidden: 'remainder' },
    { group: null, ...group, ...none, hidden: 'small' },
  ],
}

describe('stats', () => {
  it('sends whole days, and prints only numbers off a terminal', async () => {
    cli.instance.use(answers('get', path, found))
    const flags = ['--by', 'country', '--site', site, '--from', '2026-01-01', '--to', '2026-01-31', '--exact']
    const { code, stdout } = await cli.run(['stats', ...flags, '-o', 'json'])
    expect(code).toBe(0)
    expect(JSON.parse(stdout)).toEqual(
      found.groups.map(row => ({
        ...row,
        rate: row.records === null ? null : 0.75,
        complete: true,
        as_of: null,
      })),
    )
    expect(cli.sent()[0]?.query).toEqual({
      site_id: site,
      from: '2026-01-01',
      to: '2026-01-31',
      by: 'country',
      exact: 'true',
    })
  })

  it('shows a bar next to a rate, a sentence about hidden groups, and the total on a terminal', async () => {
    cli.instance.use(answers('get', path, found))
    const { stdout, stderr } = await cli.run(['stats', '--by', 'country'], { ...screen, columns: 100 })
    const lines = stripVTControlCharacters(stdout)
      .split('\n')
      .map(line => line.trimEnd())
    expect(lines[0]).toBe(
      'COUNTRY  RECORDS  PERSONS  ACCEPTED  REFUSED  WITHDRAWN  RATE                DELETED  IMPORTED',
    )
    expect(lines[1]).toContain(' 75.0 % ■■■■■■■■□□')
    expect(lines[2]).toBe('')
    expect(stderr).toContain('total: 60 records of 41 persons')
    expect(stderr).toContain(
      'hidden: unknown (fewer than ten persons), and FR, because a total would reveal a small group; --exact shows all',
    )
  })

  it.each([
    [true, 'hidden: fewer than ten persons; --exact shows all'],
    [false, 'hidden: fewer than ten persons counted so far; --exact shows all'],
  ])('when complete is %s, reports only the counted part of a hidden total', async (complete, sentence) => {
    const total = { ...found.total, hidden: 'small', records: null, persons: null }
    cli.instance.use(answers('get', path, { ...found, total, complete, as_of: null }))
    expect((await cli.run(['stats'], screen)).stderr).toContain(sentence)
  })

  it('states until when records are counted', async () => {
    cli.instance.use(answers('get', path, { ...found, complete: false, as_of: '2026-01-31T09:30:00.000Z' }))
    const { stdout, stderr } = await cli.run(['stats', '-o', 'csv'])
    expect(stdout).toContain(',,,60,41,0,30,10,2,1,0.75,,7\r\n')
    expect(stderr).toContain('counted until 2026-01-31T09:30:00.000Z')
    cli.instance.use(answers('get', path, { ...found, complete: false, as_of: null }))
    expect((await cli.run(['stats'])).stderr).toContain('not everything is counted yet')
    cli.instance.use(answers('get', path, { ...found, complete: false, uncounted: 12_000, as_of: null }))
    expect((await cli.run(['stats'])).stderr).toContain('12000 events not counted yet: try again')
  })

  it.each(['12h', '2026-01-31T00:00:00Z', '2026-02-30', 'yesterday'])(
    'rejects --from %s before any request',
    async text => {
      expectExit(await cli.run(['stats', '--from', text]), 2, 'use 2026-01-31, 7d or 4w')
      expect(cli.instance.requests).toEqual([])
    },
  )

  it('7d means the day of that time', async () => {
    cli.instance.use(answers('get', path, found))
    const before = new Date(Date.now() - 7 * 86_400_000).toISOString().slice(0, 10)
    await cli.run(['stats', '--from', '7d'])
    const after = new Date(Date.now() - 7 * 86_400_000).toISOString().slice(0, 10)
    expect([before, after]).toContain(cli.sent()[0]?.query?.['from'])
  })

  it('when the instance lacks it, exits with 2 (not_offered)', async () => {
    cli.instance.use(http.get('*/api/v1/*', () => fails(404, 'not_found')))
    cli.instance.use(answers('get', '*/api/v1/openapi.json', { openapi: '3.1.1', paths: {} }))
    const ran = await cli.run(['stats', '--json'])
    expectExit(ran, 2, { code: 'not_offered', hint: expect.stringContaining('list --count') })
  })
})

describe('list --count', () => {
  it('prints one number after one request', async () => {
    cli.instance.use(answers('get', countPath, { count: 1234 }))
    expect(await cli.run(['list', '--count', '--refused'])).toMatchObject({ code: 0, stdout: '1234\n', stderr: '' })
    expect(cli.instance.requests).toHaveLength(1)
    expect(cli.sent()[0]?.query).toEqual({ accepted: 'false' })
  })

  it('when the instance has only the six routes, counts page by page and says so', async () => {
    cli.instance.use(
      listOf(250),
      http.get(countPath, () => fails(404, 'not_found')),
      answers('get', '*/api/v1/openapi.json', { error: 'not_found', message: '' }, 404),
    )
    const { code, stdout, stderr } = await cli.run(['list', '--count'])
    expect({ code, stdout }).toEqual({ code: 0, stdout: '250\n' })
    expect(stderr).toContain('reading every page instead')
    expect(stderr).toContain('counted in 3 pages, one request each')
  })

  it.each(['--at=7d', '--limit=5', '--all', '--cursor=x', '--max-requests=2'])('rejects %s', async flag => {
    expectExit(await cli.run(['list', '--count', flag]), 2, '--count cannot be combined with')
  })
})
