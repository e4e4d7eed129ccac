import type { View } from '../output/index.ts'

/** A setting, its value, and where that came from. */
export interface SettingRow {
  readonly setting: string
  readonly value: string | null
  readonly source: string
}

export const settingView: View<SettingRow> = {
  id: row => row.setting,
  columns: [
    { name: 'setting', value: row => row.setting, whole: true, rank: 1 },
    { name: 'value', value: row => row.value, whole: true, rank: 2 },
    { name: 'source', value: row => row.source, rank: 3 },
  ],
}

/** The same by its value alone. */
export const valueView: View<SettingRow> = {
  id: row => row.value ?? '',
  columns: [{ name: 'value', value: row => row.value, whole: true, rank: 1 }],
}
