import { usageError } from '../../errors/errors.ts'

type Flags<Name extends string> = { readonly [Flag in Name]?: true | undefined }

export function acceptedOf(flags: Flags<'accepted' | 'refused'>): boolean | undefined {
  return eitherOf(flags, 'accepted', 'refused')
}

export function importedOf(flags: Flags<'imported' | 'witnessed'>): boolean | undefined {
  return eitherOf(flags, 'imported', 'witnessed')
}

/** Returns undefined without either flag. @throws CliError (usage) if both are given */
function eitherOf<Name extends string>(flags: Flags<Name>, yes: Name, no: Name): boolean | undefined {
  if (flags[yes] && flags[no]) throw usageError(`--${yes} and --${no} cannot be combined`)
  return flags[yes] ? true : flags[no] ? false : undefined
}
