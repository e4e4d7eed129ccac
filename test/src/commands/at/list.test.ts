import { HttpResponse, http } from 'msw'
import { describe, expect, it } from 'vitest'
import {
  byId,
  expectUnsent,
  fails,
  ndjson,
  resumption,
  screen,
  site,
  useCli,
  uuid,
  withoutFlag,
} from '../../support.ts'
import { at, bare, full, held, many } from './instance.ts'

const cli = useCli()

const records = [
  held('live', [9, 'created', false], [11, 'updated', true], [13, 'updated', false]),
  held('late', [12, 'created', true]),
  held('gone', [9, 'created', true], [14, 'deleted', true]),
  held('early', [8, 'created', true], [10, 'deleted', true]),
]

async function list(hour: number, ...flags: string[]) {
  const ran = await cli.run(['list', '--subject', 'maria', '--at', at(hour), '-o', 'ndjson', ...flags])
  const rows = ndjson(ran.stdout)
  return { ...ran, rows, ids: rows.map(({ id }: { id: string }) => id) }
}

const paths = () => cli.sent().map(({ path }) => path.replace('/api/v1/', ''))

describe('list --at on our service', () => {
  it.each([
    [7, []],
    [8, ['early']],
    [9, ['live', 'gone', 'early']],
    [10, ['live', 'gone']],
    [12, ['live', 'late', 'gone']],
    [14, ['live', 'late']],
    [23, ['live', 'late']],
  ])('at %i o’clock, lists the records of that time', async (hour, ids) => {
    cli.instance.use(...full(records))
    const { code, stderr, ids: found } = await list(hour)
    expect({ code, stderr, found }).toEqual({ code: 0, stderr: '', found: ids })
  })

  it('shows each record in its past state', async () => {
    cli.instance.use(...full(records))
    const { rows } = await list(12)
    expect(rows[0]).toMatchObject({ accepted: true, preferences: { step: 1 }, updated_at: at(11) })
    expect(rows[2]).toMatchObject({ accepted: true, updated_at: at(9), deleted_at: null })
  })

  it('--include-deleted lists records that were already deleted', async () => {
    cli.instance.use(...full(records))
    const { rows, ids } = await list(12, '--include-deleted')
    expect(ids).toEqual(['live', 'late', 'gone', 'early'])
    expect(rows.map(({ deleted_at }) => deleted_at)).toEqual([null, null, null, at(10)])
  })

  it('--accepted and --refused filter the past state, other filters are applied by the instance', async () => {
    cli.instance.use(...full(records))
    expect((await list(10, '--refused')).ids).toEqual(['live'])
    expect((await list(12, '--refused')).ids).toEqual([])
    expect((await list(12, '--accepted', '--site', site, '--from', '2026-03-03')).ids).toEqual(['live', 'late', 'gone'])
    expect(cli.sent().findLast(({ path }) => path === '/api/v1/consents')?.query).toEqual({
      subject_id: 'maria',
      site_id: site,
      from: '2026-03-03T00:00:00.000Z',
      include_deleted: 'true',
      limit: '100',
    })
  })

  it('reads no history of records created later', async () => {
    cli.instance.use(...full(records))
    await list(9)
    expect(paths().filter(path => path.endsWith('/history'))).toEqual([
      'consents/live/history',
      'consents/gone/history',
      'consents/early/history',
    ])
  })
})

describe('list --at on an instance that implements only the specification', () => {
  it('lists the remaining records as they were, and says that others are missing', async () => {
    cli.instance.use(...bare(records))
    const { code, stderr, ids, rows } = await list(12)
    expect({ code, ids }).toEqual({ code: 0, ids: ['live', 'late'] })
    expect(rows[0]).toMatchObject({ accepted: true, updated_at: at(11) })
    expect(stderr).toBe(
      'warning: this instance does not list deleted records: records deleted since then are missing\n',
    )
  })

  it('when the state of some records is unknown, names them, shows the others, and exits with 8', async () => {
    const { record, entries } = held('cut', [9, 'created', true], [13, 'updated', false])
    cli.instance.use(...bare([{ record, entries: entries.slice(1) }, ...records]))
    const { code, stderr, ids } = await list(12)
    expect({ code, ids }).toEqual({ code: 8, ids: ['live', 'late'] })
    expect(stderr).toContain(`the state of cut at ${at(12)} is unknown: its history begins at ${at(13)}`)
  })
})

describe('extent of a list', () => {
  const ids = (count: number) => Array.from({ length: count }, (_, index) => uuid(index))

  it('reads to the end in list order, eight histories at a time', async () => {
    const all = many(230)
    let [running, most] = [0, 0]
    cli.instance.use(
      http.get(`${byId}/history`, async ({ params }) => {
        running += 1
        most = Math.max(most, running)
        await new Promise(resolve => setTimeout(resolve, Math.random() * 4))
        running -= 1
        return HttpResponse.json({ data: all.find(({ record }) => record.id === params['id'])?.entries })
      }),
      ...full(all),
    )
    const { code, ids: found } = await list(11)
    expect({ code, found }).toEqual({ code: 0, found: ids(230) })
    expect(most).toBe(8)
  })

  it.each([1, 3, 50, 119, 120])('--limit %i is exact, and its cursor continues without a gap', async limit => {
    cli.instance.use(...full(many(240)))
    const first = await list(12, '--accepted', '--limit', String(limit))
    expect(first.ids).toHaveLength(limit)
    const rest =
      first.stderr === ''
        ? ''
        : (await cli.run([...resumption(first.stderr), '--all'].filter(withoutFlag('--limit')))).stdout
    const found = [
      ...first.ids,
      ...rest
        .split('\n')
        .filter(Boolean)
        .map(line => JSON.parse(line).id),
    ]
    expect(found).toEqual(ids(240).filter((_, index) => index % 2 === 1))
  })

  it('shows a screenful on a terminal, with the full time in the footer', async () => {
    cli.instance.use(...full(many(60)))
    const { stderr } = await cli.run(['list', '--subject', 'maria', '--at', '2026-03-03'], {
      ...screen,
      columns: 200,
    })
    expect(stderr).toBe(
      'not shown: region, user_agent, updated_at (-o wide shows all)\n' +
        '50 records; to list more: consentctl list --subject maria --at 2026-03-03T23:59:59.999Z --cursor after-50\n',
    )
  })

  it.each([3, 4, 10, 60])('--max-requests %i is a limit, and further runs list the rest', async most => {
    cli.instance.use(...full(many(40)))
    let [args, found] = [['list', '--subject', 'maria', '--at', at(11), '-q'], '']
    for (let run = 0; run < 60; run += 1) {
      cli.instance.requests.length = 0
      const ran = await cli.run([...args, '--max-requests', String(most)])
      expect(cli.sent().length).toBeLessThanOrEqual(most)
      found += ran.stdout
      if (ran.stderr === '') break
      args = resumption(ran.stderr).filter(withoutFlag('--max-requests'))
    }
    expect(found).toBe(
      ids(40)
        .map(id => `${id}\n`)
        .join(''),
    )
  })

  it('when a history fails, prints the command that continues after the last page', async () => {
    const all = many(120)
    cli.instance.use(
      http.get(`${byId}/history`, ({ params }) =>
        params['id'] === uuid(110)
          ? fails(429, 'quota_exceeded')
          : HttpResponse.json({ data: all.find(({ record }) => record.id === params['id'])?.entries }),
      ),
      ...full(all),
    )
    const { code, stdout, stderr } = await cli.run(['list', '--subject', 'maria', '--at', at(11), '-q'])
    expect(code).toBe(6)
    expect(stdout.split('\n')).toHaveLength(101)
    expect(resumption(stderr)).toEqual(['list', '--subject', 'maria', '-q', '--at', at(11), '--cursor', 'after-100'])
  })
})

describe('list --at › rejected flags', () => {
  it.each([
    ['no subject or label', ['--at', at(11)], '--subject or --consent-id'],
    ['only a site', ['--at', at(11), '--site', 's'], '--subject or --consent-id'],
    ['a time in the future', ['--subject', 'a', '--at', '2126-01-01'], 'is in the future'],
    ['too few requests for a record', ['--subject', 'a', '--at', at(11), '--max-requests', '2'], '3 or more'],
    ['an empty time', ['--subject', 'a', '--at', ''], 'must not be empty'],
  ])('is rejected before any request: %s', async (_, flags, text) => {
    expectUnsent(cli, await cli.run(['list', ...flags]), text)
  })
})
