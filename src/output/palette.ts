import type { ChalkInstance } from 'chalk'

/** Contrast of 4 or more on black and on white (WCAG 2.2, 1.4.3). A word always says the same as the colour. */
export const colors = { good: 28, notable: 130, bad: 196, gone: 163 } as const

export type Tone = keyof typeof colors

/** States without an entry have no colour. */
const tones: Readonly<Record<string, Tone>> = {
  accepted: 'good',
  ok: 'good',
  valid: 'good',
  created: 'good',
  kept: 'good',
  on_time: 'good',
  refused: 'notable',
  unknown: 'notable',
  unverifiable: 'notable',
  not_covered: 'notable',
  unsigned: 'notable',
  warn: 'notable',
  expired: 'notable',
  due_soon: 'notable',
  paused: 'notable',
  fail: 'bad',
  failed: 'bad',
  failing: 'bad',
  not_valid: 'bad',
  overdue: 'bad',
  deleted: 'gone',
  purged: 'gone',
  revoked: 'gone',
  already_gone: 'gone',
}

export function toneOf(state: unknown): Tone | undefined {
  return typeof state === 'string' && Object.hasOwn(tones, state) ? tones[state] : undefined
}

export interface Palette {
  title(text: string): string
  tone(tone: Tone | undefined, text: string): string
}

/** Chalk is a parameter, so that commands without colour do not load it. */
export function palette(Chalk: new (options: { level: 0 | 2 }) => ChalkInstance, isColored: boolean): Palette {
  const chalk = new Chalk({ level: isColored ? 2 : 0 })
  return {
    title: text => chalk.bold(text),
    tone: (tone, text) => (tone === undefined ? text : chalk.ansi256(colors[tone])(text)),
  }
}
