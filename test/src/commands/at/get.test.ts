import { describe, expect, it } from 'vitest'
import { answers, byId, expectExit, expectNoStdout, screen, site, useCli } from '../../support.ts'
import { at, bare, type Event, full, type Held, held } from './instance.ts'

const cli = useCli()

const live: Event[] = [
  [9, 'created', false],
  [11, 'updated', true],
  [13, 'updated', false],
]
const deleted: Event[] = [...live, [15, 'deleted', false]]
const purged: Held['entries'] = held('r', ...deleted, [17, 'purged', false]).entries.map(each => ({
  ...each,
  preferences: {},
}))

async function get(hour: number, ...flags: string[]) {
  const ran = await cli.run(['get', 'r', '--at', at(hour), '-o', 'json', ...flags])
  return { ...ran, row: ran.stdout === '' ? null : JSON.parse(ran.stdout) }
}

const identity = { id: 'r', site_id: site, subject_id: 'maria@example.com', country: 'DE', created_at: at(9) }

describe.each([
  ['our service', full],
  ['an instance that implements only the specification', bare],
])('a record at a past time on %s', (_, instance) => {
  it.each([
    [9, { accepted: false, preferences: { step: 0 }, policy_version: 1, updated_at: at(9) }],
    [10, { accepted: false, preferences: { step: 0 }, policy_version: 1, updated_at: at(9) }],
    [11, { accepted: true, preferences: { step: 1 }, policy_version: 2, updated_at: at(11) }],
    [12, { accepted: true, preferences: { step: 1 }, policy_version: 2, updated_at: at(11) }],
    [23, { accepted: false, preferences: { step: 2 }, policy_version: 3, updated_at: at(13) }],
  ])('at %i o’clock, is shown as it was', async (hour, state) => {
    cli.instance.use(...instance([held('r', ...live)]))
    const { code, row, stderr } = await get(hour)
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(row).toMatchObject({ ...identity, ...state, deleted_at: null, word: 'service' })
  })

  it('is not found when it was created later', async () => {
    cli.instance.use(...instance([held('r', ...live)]))
    expectNoStdout(await get(8), 3, `it was created at ${at(9)}`)
  })

  it('is not found when it is unknown', async () => {
    cli.instance.use(...instance([]))
    expect(await get(12)).toMatchObject({ code: 3, stdout: '' })
  })
})

describe('a record at a past time on our service', () => {
  it('a record that was deleted later is shown in full, as it was', async () => {
    cli.instance.use(...full([held('r', ...deleted)]))
    const { code, row, stderr } = await get(14)
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(row).toMatchObject({ ...identity, accepted: false, updated_at: at(13), deleted_at: null })
  })

  it('is found only with --include-deleted when it was already deleted', async () => {
    cli.instance.use(...full([held('r', ...deleted)]))
    for (const hour of [15, 16]) {
      expectExit(await get(hour), 3, `deleted at ${at(15)}`)
      expect((await get(hour, '--include-deleted')).row).toMatchObject({
        ...identity,
        updated_at: at(15),
        deleted_at: at(15),
      })
    }
  })

  it('is shown with what is left of it when it was purged', async () => {
    const { record } = held('r', ...deleted)
    const left = { ...record, subject_id: null, consent_id: null, user_agent: null, preferences: {} }
    cli.instance.use(...full([{ record: left, entries: purged }]))
    const { code, row, stderr } = await get(12)
    expect(code).toBe(0)
    expect(row).toMatchObject({ id: 'r', site_id: site, accepted: true, subject_id: null, preferences: null })
    expect(stderr).toBe(`warning: r was purged at ${at(17)}: its preferences and its subject are gone\n`)
    expect((await get(18)).code).toBe(3)
    expect((await get(18, '--include-deleted')).row).toMatchObject({ deleted_at: at(15) })
  })
})

describe('an imported record at a past time', () => {
  const given = [at(2), at(4)]
  const told = held('r', [9, 'imported', false], [9, 'imported', true], [11, 'updated', false])
  const entries = told.entries.map((each, index) => ({
    ...each,
    ...(given[index] ? { given_at: given[index], file_sha256: 'f1'.repeat(32) } : { gpc: true }),
  }))
  const unmade = { created_at: null, updated_at: null }
  const origin = { system: 'acme', id: '4711', evidence: null }
  const imported: Held = { record: { ...told.record, given_at: at(4), origin, gpc: true }, entries }

  it.each([
    [2, { accepted: false, preferences: { step: 0 }, given_at: at(2), word: 'importer', ...unmade }],
    [3, { accepted: false, preferences: { step: 0 }, given_at: at(2), word: 'importer', ...unmade }],
    [4, { accepted: true, preferences: { step: 1 }, given_at: at(4), word: 'importer', ...unmade }],
    [8, { accepted: true, preferences: { step: 1 }, given_at: at(4), word: 'importer', ...unmade }],
    [9, { accepted: true, preferences: { step: 1 }, given_at: at(4), word: 'service', updated_at: at(9) }],
    [12, { accepted: false, preferences: { step: 2 }, given_at: at(4), gpc: true, word: 'service' }],
  ])('at %i o’clock, names the source of each value', async (hour, state) => {
    cli.instance.use(...full([imported]))
    const { code, row, stderr } = await get(hour)
    expect(code).toBe(0)
    expect(row).toMatchObject({ ...identity, ...state, origin })
    expect(Object.hasOwn(row, 'gpc')).toBe(Object.hasOwn(state, 'gpc'))
    const warning = `warning: r was imported from acme at ${at(9)}: its earlier state is as reported by the importer\n`
    expect(stderr).toBe(hour < 9 ? warning : '')
  })

  it('before its first answer, is not found', async () => {
    cli.instance.use(...full([imported]))
    expectExit(await get(1), 3, `its first answer is of ${at(2)}`)
  })

  it('appears in a list only from its import on', async () => {
    cli.instance.use(...full([imported]))
    const list = async (hour: number) => {
      const { stdout } = await cli.run(['list', '--subject', 'maria@example.com', '--at', at(hour), '-o', 'json'])
      return JSON.parse(stdout)
    }
    expect(await list(8)).toEqual([])
    expect(await list(10)).toMatchObject([{ id: 'r', accepted: true, given_at: at(4) }])
  })

  it('is read from the history when the instance hides deleted records', async () => {
    const [record, deletion] = [
      { ...imported.record, deleted_at: at(15) },
      held('r', [15, 'deleted', false]).entries[0],
    ]
    cli.instance.use(...bare([{ record, entries: [...entries, ...(deletion ? [deletion] : [])] }]))
    const { row, stderr } = await get(3)
    expect(row).toMatchObject({ id: 'r', accepted: false, given_at: at(2), word: 'importer', ...unmade })
    expect(stderr).toContain(`r was imported at ${at(9)}: its earlier state is as reported by the importer`)
  })
})

describe('a record at a past time on an instance that implements only the specification', () => {
  it('is shown from its history with a warning when it was deleted later', async () => {
    cli.instance.use(...bare([held('r', ...deleted)]))
    const { code, row, stderr } = await get(12)
    expect(code).toBe(0)
    expect(row).toMatchObject({ id: 'r', accepted: true, preferences: { step: 1 }, updated_at: at(11) })
    expect(row).toMatchObject({ site_id: null, subject_id: null, created_at: null, deleted_at: null })
    expect(stderr).toMatch(/^warning: r is deleted now, and this instance shows no deleted records: .*\n$/)
    expect(stderr).not.toContain('may have been')
  })

  it('when the record may have been deleted by then, says so', async () => {
    cli.instance.use(...bare([held('r', ...deleted)]))
    for (const hour of [15, 16]) {
      const { code, row, stderr } = await get(hour)
      expect({ code, row }).toMatchObject({ code: 0, row: { id: 'r', accepted: false } })
      expect(stderr).toContain('not when it was deleted: it may have been deleted by then')
    }
  })

  it('a record shown as deleted existed until then', async () => {
    const { record, entries } = held('r', ...deleted)
    const instance = bare([{ record: { ...record, deleted_at: null }, entries }])
    cli.instance.use(answers('get', byId, record), ...instance)
    expect((await get(14)).row).toMatchObject({ ...identity, accepted: false, deleted_at: null })
    expect((await get(15)).stderr).toContain(`deleted at ${at(15)}`)
    expect((await get(15, '--include-deleted')).row).toMatchObject({ deleted_at: at(15) })
  })

  it('when its history begins after a change, the earlier state is unknown', async () => {
    const { record, entries } = held('r', ...live)
    cli.instance.use(...bare([{ record, entries: entries.slice(1) }]))
    expectNoStdout(await get(10), 3, `is unknown: its history begins at ${at(11)}`)
    expect((await get(12)).row).toMatchObject({ accepted: true })
  })

  it('is shown in its current state from its creation on when it has no history', async () => {
    const { record } = held('r', [9, 'created', true])
    cli.instance.use(...bare([{ record, entries: [] }]))
    expect((await get(12)).row).toMatchObject({ accepted: true, updated_at: at(9) })
    expect((await get(8)).code).toBe(3)
    cli.instance.use(...bare([{ record: { ...record, updated_at: at(13) }, entries: [] }]))
    expect(await get(12)).toMatchObject({ code: 3 })
  })
})

describe('the time of --at', () => {
  const now = () => new Date().toISOString()

  it('when it is a day, means the end of that day', async () => {
    cli.instance.use(...full([held('r', ...live)]))
    const { stdout } = await cli.run(['get', 'r', '--at', '2026-03-03', '-o', 'json'])
    expect(JSON.parse(stdout)).toMatchObject({ updated_at: at(13) })
    expect(await cli.run(['get', 'r', '--at', '2026-03-02'])).toMatchObject({ code: 3 })
  })

  it('is shown with --verbose, as parsed', async () => {
    cli.instance.use(...full([held('r', ...live)]))
    const { stderr } = await cli.run(['get', 'r', '--at', '2026-03-03', '--verbose'])
    expect(stderr).toContain('* --at 2026-03-03T23:59:59.999Z\n')
  })

  it.each(['2126-01-01', '2126-01-01T00:00:00Z', () => now().slice(0, 10)])(
    'when it is in the future, exits with 2 before any request',
    async flag => {
      const text = typeof flag === 'string' ? flag : flag()
      const ran = await cli.run(['get', 'r', '--at', text])
      expectExit(ran, 2, text.length > 10 ? `${text} is in the future` : `the end of ${text} (UTC) is in the future`)
      expect(cli.sent()).toEqual([])
    },
  )
})

it('shows several records in order, and reports those that did not exist yet', async () => {
  cli.instance.use(...full([held('a', ...live), held('b', [14, 'created', true]), held('c', ...deleted)]))
  const { code, stdout, stderr } = await cli.run(['get', 'c', 'b', 'a', '--at', at(12), '-q'])
  expect({ code, stdout }).toEqual({ code: 8, stdout: 'c\na\n' })
  expect(stderr).toContain(`no consent with id b at ${at(12)}: it was created at ${at(14)} (not_found)`)
})

it('sends two requests for a live record', async () => {
  cli.instance.use(...full([held('r', ...live)]))
  await cli.run(['get', 'r', '--at', at(12)], screen)
  expect(cli.sent().map(({ path }) => path)).toEqual(['/api/v1/consents/r/history', '/api/v1/consents/r'])
})
