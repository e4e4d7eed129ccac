import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ImportMap, type ImportMapInput } from '../../../../../../src/commands/consents/import/prepare/map.ts'
import { type PrepareOptions, prepare } from '../../../../../../src/commands/consents/import/prepare/prepare.ts'
import type { Refused } from '../../../../../../src/commands/consents/import/prepare/prepared.ts'
import type { ImportRow } from '../../../../../../src/contract/imports.ts'
import { useFolder } from '../../../../../support/cli.ts'

/** Rows `person,time,marketing,analytics`, each a whole answer. */
export const wholeAnswers: ImportMapInput = {
  system: 'test',
  container: { kind: 'csv' },
  rows: 'answer',
  fields: { origin_id: 'person', given_at: 'time', 'pref.marketing': 'marketing', 'pref.analytics': 'analytics' },
  time: { formats: ['rfc3339'] },
  accepted: { rule: 'any' },
  values: { yes: 'yes', no: 'no', pending: 'left_out' },
}

/** Rows `person,time,purpose,value`. */
export const parts: ImportMapInput = {
  ...wholeAnswers,
  rows: 'part',
  fields: { origin_id: 'person', given_at: 'time' },
  purposes: [{ from: 'row', name: 'purpose', value: 'value' }],
  names: { marketing: 'marketing', analytics: 'analytics' },
}

export type PreparedRow = Omit<ImportRow, 'site_id'>

export function usePreparation() {
  const folder = useFolder()
  const state = () => join(folder.path, 'state')
  return {
    write: (content: string | Uint8Array, name = 'export.csv'): string => {
      const path = join(folder.path, name)
      writeFileSync(path, content)
      return path
    },
    /** Names of what is left in the state folder. */
    left: () => (existsSync(state()) ? readdirSync(state(), { recursive: true }) : []),
    state,
    /** Without what an earlier call left. */
    prepare: async (files: string | readonly string[], map: ImportMapInput, options: Partial<PrepareOptions> = {}) => {
      if (!options.folder) rmSync(state(), { recursive: true, force: true })
      const refusals: Refused[] = []
      const prepared = await prepare([files].flat(), ImportMap.parse(map), {
        folder: state(),
        policyVersion: 3,
        timezone: undefined,
        unguard: false,
        now: new Date('2026-11-20T12:00:00Z'),
        host: { pid: process.pid, kill: (pid, signal) => process.kill(pid, signal) },
        signal: new AbortController().signal,
        onRefused: refused => {
          refusals.push(refused)
        },
        ...options,
      })
      const text = prepared.path === null ? '' : readFileSync(prepared.path, 'utf8')
      const rows = text
        .split('\n')
        .filter(Boolean)
        .map(line => JSON.parse(line) as PreparedRow)
      return { ...prepared, refusals, text, rows }
    },
  }
}
