import fc from 'fast-check'
import stringWidth from 'string-width'
import { describe, expect, it } from 'vitest'
import { details } from '../../../src/output/details.ts'
import type { View } from '../../../src/output/index.ts'
import { answers, byId, consent, dangerous, entry, hostile, listOf, screen, styles, useCli, uuid } from '../support.ts'

const cli = useCli()
const long = 'a long text with 同意 and 👩‍👩‍👧‍👦 in it, '.repeat(4)
const texts = Object.values(hostile)

/** Records whose texts are long, wide and hostile. */
function record(index: number) {
  const text = `${texts[index % texts.length]} ${index % 2 ? long : ''}`
  return consent({
    id: uuid(index),
    subject_id: text,
    consent_id: text,
    country: text,
    preferences: { [text]: text },
  })
}

const linesOf = (text: string) => text.trimEnd().split('\n')

describe('a list', () => {
  it.each([40, 80, 132, 200])('never exceeds %i columns, stays aligned, and never truncates an id', async columns => {
    cli.instance.use(listOf(40, record))
    const { stdout } = await cli.run(['list', '--color', 'never'], { ...screen, columns })
    const lines = linesOf(stdout)
    expect(lines).toHaveLength(41)
    const times = lines.map(line => stringWidth(line.split(/CREATED_AT|2026-01-31/)[0] ?? ''))
    for (const [index, line] of lines.entries()) {
      expect(stringWidth(line)).toBeLessThanOrEqual(columns)
      if (lines[0]?.includes('CREATED_AT')) expect(times[index]).toBe(times[0])
      if (index > 0) expect(line.startsWith(uuid(index - 1))).toBe(true)
    }
    expect(stdout).not.toMatch(dangerous)
  })

  it('omits columns by rank as the terminal gets narrower', async () => {
    cli.instance.use(listOf(3))
    let before: string[] = []
    for (let columns = 30; columns <= 260; columns += 5) {
      const { stdout } = await cli.run(['list', '--color', 'never'], { ...screen, columns })
      const titles = linesOf(stdout)[0]?.split(/ +/) ?? []
      expect(titles[0]).toBe('ID')
      expect(titles).toEqual(expect.arrayContaining(before))
      before = titles
    }
    expect(before.length).toBeGreaterThanOrEqual(9)
  })

  it('truncates no id of a later page that is longer than those of the first', async () => {
    cli.instance.use(listOf(200, index => consent({ id: index < 100 ? String(index) : uuid(index) })))
    const { stdout } = await cli.run(['list', '--all'], { ...screen, columns: 80 })
    for (const index of [100, 199]) expect(stdout).toContain(uuid(index))
  })

  it('prints its headers once for several pages', async () => {
    cli.instance.use(listOf(250))
    const { stdout } = await cli.run(['list', '--all', '--color', 'never'], { ...screen, columns: 80 })
    expect(stdout.match(/^ID /gm)).toHaveLength(1)
  })

  it('takes its width from the terminal, then from COLUMNS, else uses 80', async () => {
    cli.instance.use(listOf(1, () => record(1)))
    const widest = async (options: object) => {
      const { stdout } = await cli.run(['list', '--color', 'never'], { ...screen, ...options })
      return Math.max(...linesOf(stdout).map(line => stringWidth(line)))
    }
    expect(await widest({ columns: 120, env: { COLUMNS: '60' } })).toBeGreaterThan(80)
    expect(await widest({ env: { COLUMNS: '60' } })).toBeLessThanOrEqual(60)
    expect(await widest({ env: { COLUMNS: 'wide' } })).toBe(await widest({ columns: 80 }))
    expect(await widest({})).toBe(await widest({ columns: 80 }))
  })
})

describe('hidden columns', () => {
  const narrow = { ...screen, columns: 80 }
  const notShown = (stderr: string) =>
    /^not shown: ((?:.|\n)*)\s\(-o\swide\sshows\sall\)$/m.exec(stderr)?.[1]?.split(/,\s/) ?? []

  it('are listed below the table with a hint to show them, only if they have values', async () => {
    cli.instance.use(listOf(3, index => consent({ id: uuid(index), region: null, preferences: {} })))
    const { stdout, stderr } = await cli.run(['list', '--color', 'never'], narrow)
    const titles = linesOf(stdout)[0]?.toLowerCase().split(/ +/) ?? []
    const names = notShown(stderr)
    expect(names).toContain('site_id')
    expect(names).toContain('user_agent')
    for (const name of ['region', 'deleted_at', 'preferences', ...titles]) expect(names).not.toContain(name)
    expect(stderr.trimEnd().split('\n').at(-1)).toBe('3 records')
  })

  it('are shortened first, and 80 columns still show the day of a record', async () => {
    cli.instance.use(listOf(1, () => consent({ subject_id: 'x'.repeat(60), created_at: '2026-01-31T09:30:00.000Z' })))
    const { stdout, stderr } = await cli.run(['list', '--color', 'never'], narrow)
    const [titles = '', row = ''] = linesOf(stdout)
    expect([titles.split(/ +/).at(-1), row.split(/ +/).at(-1), row.length]).toEqual(['CREATED_AT', '2026-01-31', 80])
    expect(notShown(stderr)).not.toContain('created_at')
    const wider = await cli.run(['list', '--color', 'never'], { ...screen, columns: 90 })
    expect(linesOf(wider.stdout)[1]).toContain('2026-01-31 09:30Z')
  })

  it('are listed if only later pages have values', async () => {
    cli.instance.use(listOf(150, index => consent({ id: uuid(index), region: index < 120 ? null : 'BE' })))
    expect(notShown((await cli.run(['list', '--all'], narrow)).stderr)).toContain('region')
    expect(notShown((await cli.run(['list'], narrow)).stderr)).not.toContain('region')
  })

  it.each([
    ['with -o wide', ['-o', 'wide']],
    ['with --columns', ['--columns', 'id']],
    ['in another format', ['-o', 'tsv']],
    ['with -q', ['-q']],
  ])('are not listed %s', async (_, flags) => {
    cli.instance.use(listOf(3))
    expect((await cli.run(['list', ...flags], narrow)).stderr).not.toContain('not shown')
  })

  it('are all shown, in full and in table order, with -o wide', async () => {
    const row = consent({ subject_id: long, user_agent: long, deleted_at: null })
    cli.instance.use(listOf(1, () => row))
    const { stdout } = await cli.run(['list', '-o', 'wide', '--color', 'never'], narrow)
    const titles = linesOf(stdout)[0]?.toLowerCase().split(/ +/) ?? []
    expect(titles.slice(0, 3)).toEqual(['id', 'subject_id', 'accepted'])
    for (const name of Object.keys(row)) expect(titles).toContain(name.replace('policy_version', 'policy'))
    expect(stdout).not.toContain('…')
    expect(stdout.match(/同意/g)).toHaveLength(2 * 4)
  })
})

describe('several ids', () => {
  it('are never truncated, regardless of the first one', async () => {
    const ids = ['7', uuid(1), `record-${'x'.repeat(60)}`]
    for (const id of ids) cli.instance.use(answers('get', byId.replace(':id', id), consent({ id })))
    const { stdout } = await cli.run(['get', ...ids], { ...screen, columns: 80 })
    for (const id of ids) expect(stdout).toContain(id)
  })
})

describe('one record', () => {
  it.each([40, 80, 200])('fits %i columns, except for a full id', async columns => {
    const withId = 'POLICY_VERSION  '.length + uuid(0).length
    for (const index of texts.keys()) {
      cli.instance.use(answers('get', byId, record(index)))
      const { stdout } = await cli.run(['get', uuid(index), '--color', 'always'], { ...screen, columns })
      for (const line of linesOf(stdout)) {
        const most = /[\da-f-]{36}$/.test(line) ? Math.max(columns, withId) : columns
        expect(stringWidth(line)).toBeLessThanOrEqual(most)
      }
      expect(stdout).toContain(uuid(index))
      expect(stdout.replaceAll(styles, '')).not.toMatch(dangerous)
    }
  })

  it('shows every field in full', () => {
    const view: View<{ text: string }> = { id: () => '', columns: [{ name: 'text', value: row => row.text }] }
    const unit = fc.constantFrom(
      'a',
      'bc',
      ' ',
      '同',
      '意',
      'é',
      'e\u0301',
      '👍',
      '👍🏽',
      '🇩🇪',
      'ﷺ',
      '\u001b',
      '…',
      '-',
    )
    fc.assert(
      fc.property(
        fc.string({ unit, minLength: 1, maxLength: 120, size: 'max' }),
        fc.constantFrom(40, 80),
        (text, columns) => {
          const shown = details(view, { single: true, columns, color: false, header: false }).rows([{ text }])
          const value = shown.replace(/^TEXT/, '').replaceAll(/\s/g, '')
          expect(value).toBe(text.replaceAll('\u001b', '\\u{1b}').replaceAll(/\s/g, ''))
        },
      ),
    )
  })

  it('shows times as the instance has them, and unset fields only if requested', async () => {
    cli.instance.use(answers('get', byId, consent({ created_at: '1769851800', deleted_at: null })))
    const { stdout } = await cli.run(['get', '7', '--color', 'never'], { ...screen, columns: 80 })
    expect(stdout).toMatch(/^CREATED_AT +1769851800$/m)
    expect(stdout).not.toContain('DELETED_AT')
    const wide = await cli.run(['get', '7', '--color', 'never', '-o', 'wide'], { ...screen, columns: 80 })
    expect(wide.stdout).toMatch(/^DELETED_AT$/m)
    const asked = await cli.run(['get', '7', '--columns', 'id,deleted_at', '--color', 'never'], screen)
    expect(asked.stdout).toMatch(/^DELETED_AT$/m)
  })
})

it('a history fits too, and truncates no time', async () => {
  const data = texts.map(text => entry({ changed_by: text + long, preferences: { [text]: long } }))
  cli.instance.use(answers('get', `${byId}/history`, { data }))
  for (const columns of [40, 80, 200]) {
    const { stdout } = await cli.run(['history', '7', '--color', 'never'], { ...screen, columns })
    const lines = linesOf(stdout)
    expect(lines).toHaveLength(1 + texts.length)
    for (const line of lines) expect(stringWidth(line)).toBeLessThanOrEqual(columns)
    for (const line of lines.slice(1)) expect(line).toContain('2026-01-31 09:30:00Z')
    expect(stdout).not.toMatch(dangerous)
  }
})

describe('colour', () => {
  const colours =
    (env: Record<string, string>, args: string[] = [], isTerminal = true) =>
    async () => {
      cli.instance.use(listOf(1))
      const tty = { stdout: isTerminal, stderr: isTerminal }
      const { stdout } = await cli.run(['list', '-o', 'table', ...args], { tty, env, columns: 80 })
      return stdout.includes('\u001b[')
    }

  it.each([
    [true, 'a terminal', {}, [], true],
    [false, 'no terminal', {}, [], false],
    [false, 'TERM=dumb', { TERM: 'dumb' }, [], true],
    [true, 'FORCE_COLOR over TERM=dumb', { FORCE_COLOR: '1', TERM: 'dumb' }, [], true],
    [true, 'FORCE_COLOR off a terminal', { FORCE_COLOR: '1' }, [], false],
    [false, 'FORCE_COLOR=0', { FORCE_COLOR: '0' }, [], true],
    [false, 'NO_COLOR over FORCE_COLOR', { NO_COLOR: '1', FORCE_COLOR: '1' }, [], true],
    [true, 'an empty NO_COLOR', { NO_COLOR: '' }, [], true],
    [true, '--color always over NO_COLOR', { NO_COLOR: '1' }, ['--color', 'always'], false],
    [false, '--color never over FORCE_COLOR', { FORCE_COLOR: '1' }, ['--color', 'never'], true],
    [true, '--color auto on a terminal', {}, ['--color', 'auto'], true],
    [false, '--color auto with NO_COLOR', { NO_COLOR: '1' }, ['--color', 'auto'], true],
  ])('is %s with %s', async (expected, _, env, args, isTerminal) => {
    expect(await colours(env as Record<string, string>, args, isTerminal)()).toBe(expected)
  })
})
