import { Chalk } from 'chalk'

/**
 * Colours of the 256-colour palette whose contrast is 4 or more on black and on white (WCAG 2.2, 1.4.3, asks 3 of bold
 * text and 4.5 of other text). A colour never stands alone: the word that it belongs to says the same.
 */
export const colors = { good: 28, notable: 130, bad: 196, gone: 163 } as const

/** `good`: accepted, ok. `notable`: refused, due soon. `bad`: failed, overdue. `gone`: deleted, revoked, purged. */
export type Tone = keyof typeof colors

export interface Palette {
  title(text: string): string
  tone(tone: Tone | undefined, text: string): string
}

export function palette(isColored: boolean): Palette {
  const chalk = new Chalk({ level: isColored ? 2 : 0 })
  return {
    title: text => chalk.bold(text),
    tone: (tone, text) => (tone === undefined ? text : chalk.ansi256(colors[tone])(text)),
  }
}
