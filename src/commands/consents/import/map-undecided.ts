import { readText } from '../../../io/input.ts'
import type { Io } from '../../../io/io.ts'
import { openOutFile } from '../../../io/new-file.ts'
import { readObject } from '../fields.ts'
import type { DecidedValue } from './prepare/prepared.ts'

type Fields = Record<string, unknown>

/** Adds `null` for each undecided value to the map. @throws UsageError if `path` exists */
export async function writeUndecided(
  io: Io,
  values: readonly DecidedValue[],
  { path, map }: { readonly path: string; readonly map: string | undefined },
): Promise<void> {
  const file = await openOutFile(path, '--map-init')
  try {
    const written: Fields = map === undefined ? {} : { ...readObject(await readText(io, map), map) }
    for (const { table, value } of values) tableOf(written, table)[value] = null
    await file.write(`${JSON.stringify(written, null, 2)}\n`)
    await file.commit()
  } finally {
    await file.abandon(false)
  }
}

function tableOf(map: Fields, table: DecidedValue['table']): Fields {
  const isNested = table === 'event' || table === 'accepted'
  const holder = isNested ? copyOf(map, table) : map
  return copyOf(holder, isNested ? 'values' : table)
}

function copyOf(holder: Fields, name: string): Fields {
  const copy = { ...(holder[name] as Fields | undefined) }
  holder[name] = copy
  return copy
}
