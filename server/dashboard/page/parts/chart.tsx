import { useId } from 'preact/hooks'
import { visible } from '../../../../src/output/safe.ts'
import { formatNumber } from './text.tsx'

/** Two stacked numbers of one group; null if hidden. */
export interface Bar {
  readonly key: string
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

/** Explains colour and hatching. Screen readers skip charts: the table beside each has the same numbers. */
function Legend({ bars, names, hatch }: ChartProps & { readonly hatch: string }) {
  return (
    <figcaption>
      <svg class="swatch" aria-hidden="true">
        <pattern id={hatch} width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
          <rect class="no-ground" width="6" height="6" />
          <rect class="no-line" width="2" height="6" />
        </pattern>
        <rect class="yes" width="100%" height="100%" />
      </svg>{' '}
      {names[0]}
      <svg class="swatch" aria-hidden="true">
        <rect class="no" width="100%" height="100%" fill={`url(#${hatch})`} />
      </svg>{' '}
      {names[1]}
      {bars.some(isHidden) && <span class="hidden-groups">┄ hidden</span>}
    </figcaption>
  )
}

function describe(bar: Bar, names: ChartProps['names']): string {
  const numbers = [bar.yes, bar.no].map((value, index) => `${formatNumber(value ?? 0)} ${names[index]}`)
  return `${visible(bar.label)}: ${isHidden(bar) ? 'hidden' : numbers.join(', ')}`
}

const plotHeight = 180
const fewestSlots = 12
const mostGaps = 120
const labelCount = 4

export function TimeChart({ bars, names }: ChartProps) {
  const hatch = useId()
  const top = roundUp(Math.max(1, ...bars.map(sizeOf)))
  const slot = 100 / Math.max(fewestSlots, bars.length)
  const width = `${bars.length > mostGaps ? slot : slot * 0.8}%`
  const heightOf = (value: number | null) => ((value ?? 0) / top) * plotHeight
  const ticks = [top, top / 2, 0].filter(Number.isInteger)
  const step = Math.ceil(Math.max(fewestSlots, bars.length) / labelCount)
  return (
    <figure class="chart" aria-hidden="true">
      <Legend bars={bars} names={names} hatch={hatch} />
      <div class="plot">
        <div class="ticks">
          {ticks.map(tick => (
            <span key={tick}>{formatNumber(tick)}</span>
          ))}
        </div>
        <svg height={plotHeight + 24} aria-hidden="true">
          {ticks.map(tick => (
            <line key={tick} class="grid" x2="100%" y1={plotHeight - heightOf(tick)} y2={plotHeight - heightOf(tick)} />
          ))}
          {bars.map((bar, index) => (
            <g key={bar.key}>
              <title>{describe(bar, names)}</title>
              <rect
                class="yes"
                x={`${index * slot}%`}
                y={plotHeight - heightOf(bar.yes)}
                width={width}
                height={heightOf(bar.yes)}
              />
              <rect
                class="no"
                x={`${index * slot}%`}
                y={plotHeight - heightOf(sizeOf(bar))}
                width={width}
                height={heightOf(bar.no)}
                fill={`url(#${hatch})`}
              />
              {isHidden(bar) && (
                <line
                  class="unknown"
                  x1={`${index * slot}%`}
                  x2={`${index * slot + slot * 0.8}%`}
                  y1={plotHeight - 6}
                  y2={plotHeight - 6}
                />
              )}
              {index % step === 0 && (
                <text x={`${index * slot}%`} y={plotHeight + 18}>
                  {visible(bar.label)}
                </text>
              )}
            </g>
          ))}
        </svg>
      </div>
    </figure>
  )
}

const mostRows = 15

/** Draws horizontal bars, the longest first. */
export function RankChart({ bars, names }: ChartProps) {
  const hatch = useId()
  const top = Math.max(1, ...bars.map(sizeOf))
  const shown = [...bars].sort((one, other) => sizeOf(other) - sizeOf(one)).slice(0, mostRows)
  const percent = (value: number | null) => `${((value ?? 0) / top) * 100}%`
  return (
    <figure class="chart" aria-hidden="true">
      <Legend bars={shown} names={names} hatch={hatch} />
      {shown.map(bar => (
        <div class="rank" key={bar.key} title={describe(bar, names)}>
          <span class="label">{visible(bar.label)}</span>
          <svg aria-hidden="true">
            <rect class="yes" width={percent(bar.yes)} height="100%" />
            <rect class="no" x={percent(bar.yes)} width={percent(bar.no)} height="100%" fill={`url(#${hatch})`} />
            {isHidden(bar) && <line class="unknown" x2="3rem" y1="50%" y2="50%" />}
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
