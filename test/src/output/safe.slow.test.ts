import fc from 'fast-check'
import { HttpResponse, http } from 'msw'
import { describe, expect, it } from 'vitest'
import { formatNames } from '../../../src/output/index.ts'
import { safeJson, safeJsonLines, tsvText, visible } from '../../../src/output/safe.ts'
import {
  acting,
  byId,
  consent,
  consentsPath,
  dangerous,
  entry,
  fails,
  hostile,
  hostileCases,
  screen,
  site,
  useCli,
} from '../support.ts'

const cli = useCli()

const anyText = fc.string({ unit: 'binary' })
const nasty = fc.oneof(
  anyText,
  fc.string({ unit: fc.constantFrom(...Object.values(hostile), '\ud83d', '\udca9', '\\', 'u') }),
)

describe('visible', () => {
  it('leaves no terminal controls in any text', () => {
    fc.assert(
      fc.property(nasty, text => {
        expect(visible(text)).not.toMatch(acting)
        expect(visible(text)).not.toContain('\n')
      }),
    )
  })

  it('escapes every control and invisible format character of Unicode', () => {
    const neverDrawn = /\p{Default_Ignorable_Code_Point}|\p{Noncharacter_Code_Point}/u
    const left: string[] = []
    for (let point = 0; point <= 0x10ffff; point += 1) {
      const character = String.fromCodePoint(point)
      const isUnsafe = acting.test(character) || neverDrawn.test(character)
      if (isUnsafe && visible(character) === character) left.push(point.toString(16))
    }
    expect(left).toEqual([])
  })

  it.each([
    ['zoë 同意 👍 e\u0301', 'zoë 同意 👍 e\u0301'],
    ['a\nb\u001bc', 'a\\u{a}b\\u{1b}c'],
    ['a\u202eb', 'a\\u{202e}b'],
    ['\ud800', '\\u{d800}'],
    ['\u{e0041}', '\\u{e0041}'],
    ['👩\u200d👩', '👩\\u{200d}👩'],
    ['می\u200cخواهم', 'می\\u{200c}خواهم'],
    ['a\u2800b\u3164', 'a\\u{2800}b\\u{3164}'],
    ['a\u034fb\ufffeb\u{1ffff}', 'a\\u{34f}b\\u{fffe}b\\u{1ffff}'],
    ['❤\ufe0f 1\ufe0f\u20e3', '❤\ufe0f 1\ufe0f\u20e3'],
    ['❤\ufe0f\ufe0f\u{e0101}', '❤\ufe0f\\u{fe0f}\\u{e0101}'],
    ['1\ufe0f2', '1\\u{fe0f}2'],
    ['\u0301a', '\\u{301}a'],
    [`a${'\u0301'.repeat(10)}`, `a${'\u0301'.repeat(8)}${'\\u{301}'.repeat(2)}`],
    ['مرحبا שלום नमस्ते 👍🏽🇩🇪', 'مرحبا שלום नमस्ते 👍🏽🇩🇪'],
    ['\ue000\u0378', '\ue000\u0378'],
  ])('shows %j as %j', (text, shown) => {
    expect(visible(text)).toBe(shown)
  })
})

describe('in JSON', () => {
  it('any value parses back unchanged, without terminal controls', () => {
    const json = fc.jsonValue({ stringUnit: 'binary', maxDepth: 3 })
    fc.assert(
      fc.property(fc.record({ value: json, text: nasty }), value => {
        for (const indent of [0, 2]) {
          const text = safeJson(value, indent)
          expect(text).not.toMatch(acting)
          expect(JSON.parse(text)).toEqual(JSON.parse(JSON.stringify(value)))
        }
        expect(safeJson(value)).not.toContain('\n')
      }),
    )
  })
})

describe('JSON lines', () => {
  it('print each value like a value alone, next to any others', () => {
    const values = fc.array(fc.oneof(fc.constant('plain'), nasty, fc.record({ text: nasty })), {
      maxLength: 5,
    })
    fc.assert(
      fc.property(values, values => {
        expect(safeJsonLines(values)).toBe(values.map(value => `${safeJson(value)}\n`).join(''))
      }),
    )
  })
})

describe('TSV', () => {
  const unescaped = (cell: string) =>
    cell.replace(/\\(?:u([\da-f]{4})|(.))/g, (_, unit?: string, letter = '') =>
      unit
        ? String.fromCharCode(Number.parseInt(unit, 16))
        : ({ t: '\t', n: '\n', r: '\r', '\\': '\\' }[letter as string] ?? '?'),
    )

  it('reads back any text unchanged, from one line and one cell', () => {
    fc.assert(
      fc.property(nasty, text => {
        const cell = tsvText(text)
        expect(cell).not.toMatch(acting)
        expect(cell).not.toContain('\n')
        expect(unescaped(cell)).toBe(text)
      }),
    )
  })

  it.each([
    ['a\tb\nc\rd\\e', 'a\\tb\\nc\\rd\\\\e'],
    ['\u001b', '\\u001b'],
    ['\\u001b', '\\\\u001b'],
    ['同意 👍', '同意 👍'],
  ])('escapes %j as %j', (text, cell) => {
    expect(tsvText(text)).toBe(cell)
  })
})

describe('untrusted text never reaches the terminal unescaped', () => {
  /** A record with this text in every field that holds text. */
  const everywhere = (text: string) =>
    consent({
      id: `i${text}`,
      site_id: text,
      consent_id: text,
      subject_id: text,
      country: text,
      region: text,
      user_agent: text,
      preferences: { [text]: text, nested: [{ [text]: [text] }] },
      created_at: text,
      updated_at: text,
      deleted_at: text,
    })

  /** Controls that a format itself is made of. */
  const ends: Record<string, RegExp> = { tsv: /\t/g, csv: /\r(?=\n)/g }

  it.each(hostileCases)('%s: in tables, in every other format, and in errors', async (_, text) => {
    const record = everywhere(text)
    const trail = entry({ id: text, action: text, changed_by: text, actor_id: text, created_at: text })
    cli.instance.use(
      http.get(consentsPath, () => HttpResponse.json({ data: [record, record], next_cursor: null })),
      http.get(byId, () => HttpResponse.json(record)),
      http.get(`${byId}/history`, () => HttpResponse.json({ data: [trail] })),
      http.put(byId, () => HttpResponse.json(record)),
      http.delete(byId, () => HttpResponse.json({ error: text, message: text }, { status: 400 })),
      http.post(consentsPath, () => new HttpResponse(text.isWellFormed() ? text : '', { status: 400 })),
    )
    const id = text.isWellFormed() && !text.includes('\0') ? `i${text}` : 'i'
    const calls = [
      ['list'],
      ['get', id],
      ['get', id, 'other'],
      ['history', id],
      ['update', id, '--pref', 'a=1'],
      ['rm', id, '--yes'],
      ['create', '--site', site],
      [id],
      ['list', `--${id}`],
      ['list', '--from', id],
      ['create', '--site', site, '--pref', id.replaceAll('=', '')],
    ]
    for (const format of formatNames) {
      for (const call of calls) {
        const [name = '', ...operands] = call
        const { stdout, stderr } = await cli.run(['-o', format, '--color', 'never', name, ...operands], screen)
        expect(stdout.replaceAll(ends[format] ?? /$^/g, ' ')).not.toMatch(dangerous)
        expect(stderr).not.toMatch(dangerous)
      }
    }
  })

  it('a cursor of the instance is escaped where it is shown', async () => {
    const next_cursor = 'c\u001b]0;owned\u0007\u202e'
    cli.instance.use(http.get(consentsPath, () => HttpResponse.json({ data: [consent()], next_cursor })))
    const { stderr } = await cli.run(['list', '--limit', '1', '--color', 'never'], screen)
    expect(stderr).not.toMatch(dangerous)
  })

  it('a request id is escaped', async () => {
    cli.instance.use(
      http.get(byId, () => {
        const response = fails(400, 'invalid_request')
        response.headers.set('x-request-id', 'r\u009b31m')
        return response
      }),
    )
    expect((await cli.run(['get', '7'])).stderr).not.toMatch(dangerous)
  })
})
