/** The formats that rows can be printed in. */
export const formatNames = ['table', 'tsv', 'json', 'ndjson', 'id'] as const

export type FormatName = (typeof formatNames)[number]
