import { usageError } from '../../errors/errors.ts'

export function acceptedOf({
  accepted,
  refused,
}: {
  readonly accepted?: true | undefined
  readonly refused?: true | undefined
}): boolean | undefined {
  if (accepted && refused) throw usageError('--accepted and --refused cannot be combined')
  return accepted ? true : refused ? false : undefined
}

/** @throws CliError (usage) if both flags are given */
export function importedOf({
  imported,
  witnessed,
}: {
  readonly imported?: true | undefined
  readonly witnessed?: true | undefined
}): boolean | undefined {
  if (imported && witnessed) throw usageError('--imported and --witnessed cannot be combined')
  return imported ? true : witnessed ? false : undefined
}
