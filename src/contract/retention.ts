import type { Site } from './sites.ts'

/** `P3Y after withdrawal`; empty for never. */
export function describeRetention(retention: Site['retention']): string {
  return retention ? `${retention.period} after ${retention.after.replace('_', ' ')}` : ''
}

/** `P10Y (GDPR Art. 17(3)(e)), since 2026-01-31T09:30:00.000Z`; empty for none. */
export function describeSealed(setting: Site['sealed_proof']): string {
  return setting ? `${setting.period} (${setting.basis}), since ${setting.since}` : ''
}
