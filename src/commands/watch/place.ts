import { readFile } from 'node:fs/promises'
import * as z from 'zod'
import { CliError, dataError, exit, usageError } from '../../errors/errors.ts'
import { openDraft, partOf } from '../../io/new-file.ts'

/** What `--state` keeps. */
const Place = z.strictObject({
  instance: z.string(),
  /** Null if the instance does not tell it. */
  account_id: z.string().nullable(),
  /** Of the last event that was handled. Null if there was none. */
  after: z.int().min(0).nullable(),
  /** Of `--verify`: the Merkle tree of the events up to there, as the roots of its largest full subtrees. */
  tree: z.strictObject({ size: z.int().min(0), frontier: z.string() }).optional(),
})
export type Place = z.output<typeof Place>

/**
 * Returns null if there is no such file yet. Fails now if it could not be written later.
 * @throws CliError usage (exit 2), also if it is of another instance or account; invalid_data (exit 5) if it is damaged
 */
export async function openPlace(
  file: string,
  { instance, account_id }: Pick<Place, 'instance' | 'account_id'>,
): Promise<Place | null> {
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null
    throw usageError(`${file} cannot be read: ${error.code}`)
  })
  const place = text === null ? null : parse(file, text)
  if (place && place.instance !== instance) throw usageError(`${file} is of ${place.instance}, not of ${instance}`)
  if (place && place.account_id !== account_id)
    throw usageError(`${file} is of the account ${place.account_id}, not of ${account_id}`)
  await write(file, null).catch((error: NodeJS.ErrnoException) => {
    throw usageError(`${file} cannot be written: ${error.code}`)
  })
  return place
}

function parse(file: string, text: string): Place {
  try {
    return Place.parse(JSON.parse(text))
  } catch {
    throw dataError(`${file} is not a file of --state`, 'begin with a new one, and --from or --after')
  }
}

/** Whole or unchanged, also when the process is killed. @throws CliError io (exit 1) */
export async function writePlace(file: string, place: Place): Promise<void> {
  await write(file, place).catch((error: NodeJS.ErrnoException) => {
    throw new CliError('io', exit.failure, `${file} cannot be written: ${error.code}`)
  })
}

/** With null it only tries to. */
async function write(path: string, place: Place | null): Promise<void> {
  const draft = await openDraft(partOf(path))
  try {
    await draft.file.writeFile(`${JSON.stringify(place)}\n`)
    if (place) await draft.replace(path)
  } finally {
    await draft.file.close()
    await draft.remove()
  }
}
