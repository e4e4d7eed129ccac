/** The formats that rows can be printed in. */
export const formatNames = ['table', 'tsv', 'json', 'ndjson', 'csv', 'yaml', 'id'] as const

export type FormatName = (typeof formatNames)[number]
