import type { View } from '../output/index.ts'
import { field, stateField } from './field.ts'

export const requestView: View<{
  readonly method: string
  readonly url: string
  readonly body: object | null
}> = {
  id: row => row.url,
  keepsAll: true,
  columns: [
    field('method', { whole: true, rank: 1 }),
    field('url', { whole: true, rank: 2 }),
    field('body', { rank: 3 }),
  ],
}

export interface CommandRow {
  readonly command: string
  readonly summary: string
  readonly usage: string
  readonly aliases: readonly string[]
  readonly arguments: readonly object[]
  readonly flags: readonly object[]
  readonly examples: readonly string[]
}

export const commandView: View<CommandRow> = {
  id: row => row.command,
  columns: [
    field('command', { whole: true, rank: 1 }),
    field('summary', { rank: 2 }),
    field('usage', { whole: true }),
    field('aliases'),
    field('arguments'),
    field('flags'),
    field('examples'),
  ],
}

export interface CheckRow {
  readonly check: string
  /** `skip`: a precondition is missing or failed. */
  readonly result: 'ok' | 'warn' | 'fail' | 'skip'
  readonly detail: string
  readonly remedy: string | null
}

export const checkView: View<CheckRow> = {
  id: row => (row.result === 'fail' ? row.check : ''),
  keepsAll: true,
  columns: [
    field('check', { whole: true, rank: 1 }),
    stateField('result', { rank: 2 }),
    field('detail', { whole: true, rank: 3 }),
    field('remedy'), // printed below the table
  ],
}

export interface SettingRow {
  readonly setting: string
  readonly value: string | null
  readonly source: string
}

export const settingView: View<SettingRow> = {
  id: row => row.setting,
  columns: [
    field('setting', { whole: true, rank: 1 }),
    field('value', { whole: true, rank: 2 }),
    field('source', { rank: 3 }),
  ],
}

export const valueView: View<SettingRow> = {
  id: row => row.value ?? '',
  columns: [field('value', { whole: true, rank: 1 })],
}

export const profileView: View<{
  readonly name: string
  readonly is_default: boolean
  readonly base_url: string | null
  readonly site: string | null
  readonly email: string | null
  readonly protected: boolean
  /** `stored`, `key_command` or null. */
  readonly key: string | null
}> = {
  id: row => row.name,
  columns: [
    field('name', { whole: true, rank: 1 }),
    field('is_default', { title: 'default', rank: 4, text: row => (row.is_default ? 'yes' : '') }),
    field('base_url', { whole: true, rank: 2 }),
    field('site', { whole: true, rank: 6 }),
    field('email', { rank: 7 }),
    field('protected', { rank: 5, text: row => (row.protected ? 'yes' : '') }),
    field('key', { rank: 3 }),
  ],
}

export const pathView: View<{
  readonly name: string
  readonly path: string
  readonly exists: boolean
}> = {
  id: row => row.path,
  columns: [
    field('name', { whole: true, rank: 1 }),
    field('path', { whole: true, rank: 2 }),
    field('exists', { rank: 3 }),
  ],
}

export const tokenView: View<{
  readonly api_key: string
  readonly source: string
}> = {
  id: row => row.api_key,
  columns: [field('api_key', { whole: true, secret: true, rank: 1 })],
}
