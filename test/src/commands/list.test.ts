import { describe, expect, it } from 'vitest'
import { filters } from '../../../src/contract/filters.ts'
import { answers, consent, consentsPath, expectNoStdout, expectUnsent, screen, site, useCli } from '../support.ts'

const cli = useCli()
const empty = answers('get', consentsPath, { data: [], next_cursor: null })

/** The query of the one request that a list sends. */
async function queryOf(args: string[]): Promise<Record<string, string> | undefined> {
  cli.instance.use(empty)
  expect(await cli.run(['list', ...args])).toMatchObject({ code: 0, stdout: '', stderr: '' })
  expect(cli.sent()).toHaveLength(1)
  return cli.sent()[0]?.query
}

const knowing = (...names: readonly string[]) =>
  answers('get', '*/api/v1/openapi.json', {
    openapi: '3.1.1',
    paths: { '/api/v1/consents': { get: { parameters: names.map(name => ({ in: 'query', name })) } } },
  })

describe('imported records', () => {
  const document = knowing('imported')
  const origin = { system: 'acme', id: '4711', evidence: null }
  const imported = consent({ given_at: '2020-05-01T10:00:00.000Z', origin })
  const records = answers('get', consentsPath, { data: [imported], next_cursor: null })

  it.each([
    ['--imported', 'true'],
    ['--witnessed', 'false'],
  ])('when the instance knows the filter, %s sends it', async (flag, value) => {
    cli.instance.use(document, records)
    expect((await cli.run(['list', flag, '--refused', '-q'])).code).toBe(0)
    expect(cli.sent().map(({ query }) => query)).toEqual([{}, { accepted: 'false', imported: value, limit: '100' }])
  })

  it.each([
    ['list', '--imported'],
    ['list', '--witnessed', '--count'],
    ['list', '--expired'],
    ['update', '--where', 'imported', '--refused', '--yes'],
  ])('when the instance lacks the filter, %s %s exits with not_offered and lists nothing', async (...args) => {
    cli.instance.use(knowing(), records)
    expectNoStdout(await cli.run([...args, '-o', 'ndjson']), 2, { code: 'not_offered' })
    expect(cli.sent()).toHaveLength(1)
  })

  it('have the columns of other records, then those of their origin', async () => {
    cli.instance.use(document, records)
    const { stdout } = await cli.run(['list', '--imported', '-o', 'tsv', '--header'])
    const [header = '', row = ''] = stdout.split('\n')
    expect(header.split('\t').slice(-3)).toEqual(['deleted_at', 'given_at', 'origin'])
    expect(row).toMatch(/\t2020-05-01T10:00:00.000Z\t\{"system":"acme","id":"4711","evidence":null\}$/)
    expect((await cli.run(['list', '--imported'], { ...screen, columns: 160 })).stdout).toMatch(
      /ACCEPTED.*GIVEN_AT.*ORIGIN/,
    )
    const long = consent({
      subject_id: 'a-rather-long-name@department.example.com',
      given_at: imported.given_at,
      origin,
    })
    cli.instance.use(answers('get', consentsPath, { data: [imported, long], next_cursor: null }))
    const narrow = (await cli.run(['list', '--imported'], { ...screen, columns: 80 })).stdout
    expect(narrow).toMatch(/ACCEPTED.*GIVEN_AT/)
    expect(narrow.match(/yes.*2020-05-01/g)).toHaveLength(2)
  })

  it.each([
    ['list', '--imported', '--witnessed'],
    ['list', '--imported', '--expired'],
    ['update', '--where', 'imported,witnessed', '--refused'],
    ['update', '--where', 'imported=yes', '--refused'],
  ])('%s %s %s is rejected before any request', async (...args) => {
    expect((await cli.run(args)).code).toBe(2)
    expect(cli.instance.requests).toEqual([])
  })
})

describe('the query', () => {
  it('sends every filter', async () => {
    const values = { site, text: 'a b+c&d=é', from: '2026-01-31T09:30:00.5+02:00', to: '2026-03-01T00:00:00Z' }
    const given = filters.map(({ name, kind, flag }) =>
      kind === 'boolean'
        ? { name, value: 'true', flags: [`--${flag}`] }
        : { name, value: values[kind], flags: [`--${flag}`, values[kind]] },
    )
    cli.instance.use(knowing(...filters.map(({ name }) => name)), empty)
    const others = ['--include-deleted', '--cursor', '-abc_=', '--limit', '7']
    await cli.run(['list', ...given.flatMap(({ flags }) => flags), ...others])
    expect(cli.sent().at(-1)?.query).toEqual({
      ...Object.fromEntries(given.map(({ name, value }) => [name, value])),
      include_deleted: 'true',
      cursor: '-abc_=',
      limit: '7',
    })
  })

  it('--refused sends accepted=false', async () => {
    expect(await queryOf(['--refused'])).toEqual({ accepted: 'false', limit: '100' })
  })

  it.each([
    [['--expiring', '30d'], 'P30D'],
    [['--expiring', '4w'], 'P4W'],
    [['--expiring', 'P1Y6M'], 'P1Y6M'],
    [['--expired'], 'expired'],
  ])('%j sends the expiry', async (flags, expiry) => {
    cli.instance.use(knowing('expiry'), empty)
    expect(await cli.run(['list', ...flags, '--site', site])).toMatchObject({ code: 0, stdout: '', stderr: '' })
    expect(cli.sent().map(({ query }) => query)).toEqual([{}, { expiry, site_id: site, limit: '100' }])
  })

  it.each([
    [['--expiring', '30d', '--expired'], '--expiring and --expired cannot be combined'],
    [['--expired', '--subject', 'x'], '--expired cannot be combined with --subject'],
    [['--expiring', '30d', '--count'], '--expiring cannot be combined with --count'],
    [['--expiring', '24h'], 'invalid time "24h"'],
    [['--expiring', 'expired'], 'invalid time "expired"'],
  ])('rejects %j', async (flags, message) => {
    expectUnsent(cli, await cli.run(['list', ...flags]), message)
  })

  it('includes a date from its first to its last millisecond in UTC', async () => {
    expect(await queryOf(['--from', '2026-01-31', '--to', '2026-01-31'])).toMatchObject({
      from: '2026-01-31T00:00:00.000Z',
      to: '2026-01-31T23:59:59.999Z',
    })
  })

  it.each([
    ['2026-01-31 09:30Z', '2026-01-31T09:30:00.000Z', '2026-01-31T09:30:59.999Z'],
    ['2026-01-31T09:30Z', '2026-01-31T09:30:00.000Z', '2026-01-31T09:30:59.999Z'],
    ['2026-01-31 09:30:07Z', '2026-01-31T09:30:07.000Z', '2026-01-31T09:30:07.999Z'],
    ['2026-01-31T09:30:07Z', '2026-01-31T09:30:07Z', '2026-01-31T09:30:07Z'],
  ])('accepts a time as printed in a table, including its whole second: %s', async (time, from, to) => {
    expect(await queryOf(['--from', time, '--to', time])).toMatchObject({ from, to })
  })

  it.each([
    ['90m', 90 * 60_000],
    ['24h', 24 * 3_600_000],
    ['7d', 7 * 86_400_000],
    ['2w', 14 * 86_400_000],
  ])('accepts a duration: %s ago', async (span, milliseconds) => {
    const start = Date.now()
    const from = Date.parse((await queryOf(['--from', span]))?.['from'] ?? '')
    expect(from + milliseconds).toBeGreaterThanOrEqual(start)
    expect(from + milliseconds).toBeLessThanOrEqual(Date.now())
  })

  it.each([
    ['--from', 'yesterday'],
    ['--from', '2026-02-30'],
    ['--to', '2026-01-31T09:30:00'],
    ['--to', '2026-01-31 9:30Z'],
    ['--to', '2026-01-31 09:30'],
    ['--from', '2026-01-31T24:00:00Z'],
    ['--from', '7y'],
    ['--from', '-7d'],
    ['--to', '1769851800'],
  ])('rejects %s %s before any request', async (flag, value) => {
    expectUnsent(cli, await cli.run(['list', flag, value]), '7d or 24h')
  })

  it.each([
    ['--accepted', '--refused'],
    ['--all', '--limit=5'],
  ])('%s and %s exclude each other', async (...flags) => {
    expectUnsent(cli, await cli.run(['list', ...flags]))
  })
})

describe('an empty list', () => {
  it.each([
    [['-o', 'json'], '[]\n'],
    [['--json'], '[]\n'],
    [['-o', 'ndjson'], ''],
    [['-o', 'tsv'], ''],
    [['-q'], ''],
  ])('exits with 0: %j', async (flags, stdout) => {
    cli.instance.use(empty)
    expect(await cli.run(['list', ...flags])).toEqual({ code: 0, stdout, stderr: '' })
  })

  it('reports the count on a terminal', async () => {
    cli.instance.use(empty)
    expect(await cli.run(['list'], screen)).toEqual({ code: 0, stdout: '', stderr: '0 records\n' })
  })
})
