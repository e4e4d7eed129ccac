import { hostile } from '../support.ts'

const range = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, index) => from + index)

/** Code points that act, hide or reorder, each by itself in a text. */
const points = [
  ...range(0, 0x1f),
  ...range(0x7f, 0x9f),
  ...range(0x200b, 0x200f),
  ...range(0x2028, 0x202e),
  ...range(0x2060, 0x206f),
  ...range(0xfe00, 0xfe0f),
  ...range(0xfff0, 0xfffb),
  ...[0xad, 0x34f, 0x61c, 0x115f, 0x1160, 0x17b4, 0x180b, 0x180e, 0x2800, 0x3164, 0xd800, 0xdbff, 0xdc00, 0xdfff],
  ...[0xfdd0, 0xfeff, 0xffa0, 0xfffe, 0xffff, 0x13430, 0x1bca0, 0x1d159, 0x1d173, 0xe0001, 0xe0041, 0xe0100, 0x10ffff],
].map(point => `a${String.fromCodePoint(point)}b`)

const formulas = [
  '=cmd()',
  '+1',
  '-2+3',
  '@SUM(1)',
  '\t=1',
  '\r=1',
  '\n=1',
  "'=1",
  "''=1",
  '＝1',
  "'",
  '"',
  '""',
  '","',
]
const indicators = [
  '---',
  '...',
  '- a',
  '? a',
  ': a',
  '# a',
  '&a',
  '*a',
  '!a',
  '|',
  '>',
  '%YAML 1.2',
  '@a',
  '`a',
  '{a',
  '[a',
]
const looks = [
  ...['null', '~', 'true', 'yes', 'no', '1e3', '0x1f', '1:2', '2026-01-31', '-0', '', ' ', ' a', 'a ', '\\'],
  ...['\\n', '\\u0041'],
]
const sequences = [
  '\u001b]52;c;cm0gLXJmIC8=\u0007',
  '\u001b]8;id=1;https://evil.example\u001b\\click\u001b]8;;\u001b\\',
  '\u001bP+q544e\u001b\\',
  '\u001b[6n',
  '\u001b[?1049h',
  '\u009d0;owned\u009c',
  '\u001b_G;AAAA\u001b\\',
]
const scripts = [
  ...['موافقة على السياسة', 'שָׁלוֹם 123', 'नमस्ते क्‍ष', 'ශ්‍රී', 'می‌خواهم', '葛\u{e0100}飾', '👩‍👩‍👧‍👦'],
  ...['🏴\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}', '👍🏽🇩🇪1️⃣❤️', '동의 함', 'ＡＢ'],
]
const marks = ['\u0301', `a${'\u0301'.repeat(9)}`, `z${'\u0351\u036b'.repeat(500)}`, `\u20dd`, 'é'.normalize('NFD')]

const single = [
  ...points,
  ...formulas,
  ...indicators,
  ...looks,
  ...sequences,
  ...scripts,
  ...marks,
  ...Object.values(hostile),
]

/** What strangers may write: each trouble by itself, and five hundred texts in all with mixtures of them, always the same. */
export const strangers: readonly string[] = [...single, ...range(1, Math.max(0, 500 - single.length)).map(mixture)]

function mixture(seed: number): string {
  let state = seed
  const next = (below: number) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
  return Array.from({ length: 1 + next(6) }, () => single[next(single.length)]).join(['', ' ', 'x'][next(3)])
}
