import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import * as z from 'zod'
import type { Settings } from './settings.ts'

const Known = z.record(z.string(), z.array(z.string()))

function fileOf({ stateFolder }: Settings): string {
  return join(stateFolder, 'sites.json')
}

function readKnown(settings: Settings): Record<string, string[]> {
  try {
    return Known.parse(JSON.parse(readFileSync(fileOf(settings), 'utf8')))
  } catch {
    return {} // missing, or of another version
  }
}

export function knownSites(settings: Settings): readonly string[] {
  return readKnown(settings)[settings.baseUrl?.value ?? ''] ?? []
}

export function rememberSites(settings: Settings, names: readonly string[]): void {
  if (!settings.baseUrl) return
  try {
    const file = fileOf(settings)
    const known = { ...readKnown(settings), [settings.baseUrl.value]: names }
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
    writeFileSync(`${file}.part`, `${JSON.stringify(known, null, 2)}\n`, { mode: 0o600 })
    renameSync(`${file}.part`, file)
  } catch {
    // Used only by completions.
  }
}
