import type { Format, FormatName } from './format.ts'

export const formats: Record<FormatName, (single: boolean) => Promise<Format>> = {
  table: async single => (single ? (await import('./details.ts')).details : (await import('./table.ts')).table),
  tsv: async () => (await import('./text.ts')).tsv,
  json: async () => (await import('./json.ts')).json,
  ndjson: async () => (await import('./json.ts')).ndjson,
  csv: async () => (await import('./csv.ts')).csv,
  yaml: async () => (await import('./yaml.ts')).yaml,
  id: async () => (await import('./text.ts')).id,
  wide: single => formats.table(single),
}

export type { Cell, Column, Format, Renderer, RenderOptions, View } from './format.ts'
export { type FormatName, formatNames } from './format.ts'
export { toneOf } from './palette.ts'
export { fromTsv, safeJson, visible } from './safe.ts'
