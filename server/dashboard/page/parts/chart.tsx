import { visible } from '../../../../src/output/safe.ts'
import { formatNumber } from './text.tsx'

/** Two stacked numbers of one period; null if hidden. */
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

/** Its units are a bar and the bars' number. Screen readers skip it: the table beside it has the same numbers. */
export function Chart({ bars, names }: ChartProps) {
  const top = Math.max(1, ...bars.map(sizeOf))
  const slots = Math.max(12, bars.length) // so that a few bars are not as wide as the page
  const labels = [bars[0], bars.at(-1)].map(bar => visible(bar?.label ?? ''))
  return (
    <figure aria-hidden="true">
      <figcaption>
        <span class="swatch yes" /> {names[0]} <span class="swatch" /> {names[1]}, from {labels[0]} to {labels[1]}, at
        most {formatNumber(top)}
      </figcaption>
      <svg viewBox={`0 0 ${slots} ${top}`} preserveAspectRatio="none" aria-hidden="true">
        {bars.map((bar, index) => (
          <g key={index}>
            <title>{describe(bar, names)}</title>
            <rect class="yes" x={index} y={top - (bar.yes ?? 0)} width="0.8" height={bar.yes ?? 0} />
            <rect x={index} y={top - sizeOf(bar)} width="0.8" height={bar.no ?? 0} />
            {bar.yes === null && <line x1={index} x2={index + 0.8} y1={top} y2={top} />}
          </g>
        ))}
      </svg>
    </figure>
  )
}

function describe(bar: Bar, names: ChartProps['names']): string {
  const numbers = [bar.yes, bar.no].map((value, index) => `${formatNumber(value ?? 0)} ${names[index]}`)
  return `${visible(bar.label)}: ${bar.yes === null ? 'hidden' : numbers.join(', ')}`
}
