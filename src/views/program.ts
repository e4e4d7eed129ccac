import type { View } from '../output/index.ts'
import { field } from './field.ts'

/** A request that would be sent, without its credentials. */
interface RequestRow {
  readonly method: string
  readonly url: string
  /** As it would be sent; null for none. */
  readonly body: object | null
}

export const requestView: View<RequestRow> = {
  id: row => row.url,
  keepsAll: true,
  columns: [
    field('method', { whole: true, rank: 1 }),
    field('url', { whole: true, rank: 2 }),
    field('body', { rank: 3 }),
  ],
}

/** A command as `commands` lists it. */
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
