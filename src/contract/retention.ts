import type { Site } from './sites.ts'

/** `P3Y after withdrawal`; empty for never. */
export function describeRetention(retention: Site['retention']): string {
  return retention ? `${retention.period} after ${retention.after.replace('_', ' ')}` : ''
}
