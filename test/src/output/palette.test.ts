import { Chalk } from 'chalk'
import { describe, expect, it } from 'vitest'
import { colors, palette, toneOf } from '../../../src/output/palette.ts'
import { answers, byId, consent, listOf, screen, useCli, uuid } from '../support.ts'

const cli = useCli()

/** A colour of the 6 × 6 × 6 cube of the 256-colour palette. */
function rgb(index: number): number[] {
  const level = (digit: number) => (digit === 0 ? 0 : 55 + 40 * digit)
  const place = index - 16
  return [Math.floor(place / 36), Math.floor(place / 6) % 6, place % 6].map(level)
}

/** Relative luminance (WCAG 2.2). */
function luminance(color: readonly number[]): number {
  const [red = 0, green = 0, blue = 0] = color.map(value => {
    const part = value / 255
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4
  })
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue
}

describe.each(Object.entries(colors))('the colour %s', (_, index) => {
  it.each([
    ['black', 0],
    ['white', 1],
  ])('has a contrast of 3.9 or more on %s', (__, background) => {
    const [dark = 0, bright = 0] = [luminance(rgb(index)), background].sort((a, b) => a - b)
    expect((bright + 0.05) / (dark + 0.05)).toBeGreaterThanOrEqual(3.9)
  })
})

describe('a state on a terminal', () => {
  const painted = (state: string, word: string) => palette(Chalk, true).tone(toneOf(state), word)

  it('is coloured in addition to its word, in a list and in a single record', async () => {
    const rows = [consent({ id: uuid(1) }), consent({ id: uuid(2), accepted: false })]
    cli.instance.use(
      listOf(2, index => rows[index] ?? consent()),
      answers('get', byId, consent({ deleted_at: '2026-02-01T00:00:00.000Z' })),
    )
    const env = { TERM: 'xterm' }
    const { stdout } = await cli.run(['list'], { ...screen, env })
    expect(stdout).toContain(painted('accepted', 'yes'))
    expect(stdout).toContain(painted('refused', 'no'))
    const one = await cli.run(['get', '7'], { ...screen, env })
    expect(one.stdout).toContain(painted('accepted', 'true'))
    expect(one.stdout).toContain(painted('deleted', '2026-02-01T00:00:00.000Z'))
  })
})
