import { visible } from '../../../../src/output/safe.ts'
import { formatNumber } from './text.tsx'

/** Two stacked numbers of one group; null if hidden. */
export interface Bar {
  readonly label: string
  readonly yes: number | null
  readonly no: number | null
}

interface ChartProps {
  readonly bars: readonly Bar[]
  readonly names: readonly [yes: string, no: string]
}

const sizeOf = ({ yes, no }: Bar) => (yes ?? 0) + (no ?? 0)
const isHidden = ({ yes }: Bar) => yes === null
const topOf = (bars: readonly Bar[]) => Math.max(1, ...bars.map(sizeOf))

/** Screen readers skip charts: the table beside each has the same numbers. */
function Legend({ bars, names }: ChartProps) {
  return (
    <figcaption>
      {['yes', 'no'].map((name, index) => (
        <span key={name}>
          <svg class="swatch" aria-hidden="true">
            <rect class={name} width="100%" height="100%" />
          </svg>{' '}
          {names[index]}{' '}
        </span>
      ))}
      {bars.some(isHidden) && '┄ hidden'}
    </figcaption>
  )
}

function describe(bar: Bar, names: ChartProps['names']): string {
  const numbers = [bar.yes, bar.no].map((value, index) => `${formatNumber(value ?? 0)} ${names[index]}`)
  return `${visible(bar.label)}: ${isHidden(bar) ? 'hidden' : numbers.join(', ')}`
}

const fewestSlots = 12
const mostGaps = 120
const labelCount = 4

/** Draws vertical bars; its units are a bar and the bars' number. */
export function TimeChart({ bars, names }: ChartProps) {
  const top = roundUp(topOf(bars))
  const slots = Math.max(fewestSlots, bars.length)
  const width = bars.length > mostGaps ? 1 : 0.8
  const ticks = [top, top / 2, 0].filter(Number.isInteger)
  const step = Math.ceil(slots / labelCount)
  return (
    <figure class="time" aria-hidden="true">
      <Legend bars={bars} names={names} />
      <div class="ticks">
        {ticks.map(tick => (
          <span key={tick}>{formatNumber(tick)}</span>
        ))}
      </div>
      <svg viewBox={`0 0 ${slots} ${top}`} preserveAspectRatio="none" aria-hidden="true">
        {ticks.map(tick => (
          <line key={tick} class="grid" x2={slots} y1={tick} y2={tick} />
        ))}
        {bars.map((bar, index) => (
          <g key={index}>
            <title>{describe(bar, names)}</title>
            <rect class="yes" x={index} y={top - (bar.yes ?? 0)} width={width} height={bar.yes ?? 0} />
            <rect class="no" x={index} y={top - sizeOf(bar)} width={width} height={bar.no ?? 0} />
            {isHidden(bar) && <line class="unknown" x1={index} x2={index + 0.8} y1={top * 0.97} y2={top * 0.97} />}
          </g>
        ))}
      </svg>
      <div class="labels">
        {bars.map(
          ({ label }, index) =>
            index % step === 0 && (
              <span key={index} style={{ left: `${(100 * index) / slots}%` }}>
                {visible(label)}
              </span>
            ),
        )}
      </div>
    </figure>
  )
}

const mostRows = 15

/** Draws horizontal bars, the longest first. */
export function RankChart({ bars, names }: ChartProps) {
  const top = topOf(bars)
  const shown = [...bars].sort((one, other) => sizeOf(other) - sizeOf(one)).slice(0, mostRows)
  return (
    <figure aria-hidden="true">
      <Legend bars={shown} names={names} />
      {shown.map((bar, index) => (
        <div class="rank" key={index} title={describe(bar, names)}>
          <span class="label">{visible(bar.label)}</span>
          <svg viewBox={`0 0 ${top} 1`} preserveAspectRatio="none" aria-hidden="true">
            <rect class="yes" width={bar.yes ?? 0} height="1" />
            <rect class="no" x={bar.yes ?? 0} width={bar.no ?? 0} height="1" />
            {isHidden(bar) && <line class="unknown" x2={top / 10} y1="0.5" y2="0.5" />}
          </svg>
          <span class="number">{isHidden(bar) ? '' : formatNumber(sizeOf(bar))}</span>
        </div>
      ))}
      {bars.length > shown.length && (
        <p class="hint">
          The {mostRows} largest of {formatNumber(bars.length)}: the table has all.
        </p>
      )}
    </figure>
  )
}

/** Rounds up to 1, 2, 4, 6 or 8 times a power of ten: all but 1 have a whole half, for the middle tick. */
function roundUp(value: number): number {
  const unit = 10 ** Math.floor(Math.log10(value))
  return unit * ([1, 2, 4, 6, 8].find(step => step * unit >= value) ?? 10)
}
