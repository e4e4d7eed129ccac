import { type CliError, usageError } from '../../../errors/errors.ts'

/** European languages; booleans of spreadsheets and databases. */
const commonYes =
  'true yes y t 1 on accepted accept granted agreed consented subscribed opt-in optin opted-in ' +
  'ja j oui sí si sim sì tak ano áno da igen kyllä jah jā taip evet ναι да так akzeptiert zugestimmt angemeldet accepté ' +
  'wahr vrai verdadero verdadeiro vero waar prawda pravda sant sand sann tosi igaz doğru истина'

const commonNo =
  'false no n f 0 off rejected reject refused declined denied unsubscribed opt-out optout opted-out ' +
  'nein non não nao nee nej nei nie ne nem ei nē nu hayır όχι нет не ні abgelehnt abgemeldet refusé ' +
  'falsch faux falso onwaar fałsz nepravda falskt falsk usann epätosi hamis yanlış yanliş ложь'

/** Undefined for other words. */
export type WordReader = (word: string) => boolean | undefined

/** Ignores case and surrounding blanks. @throws UsageError for a word with both meanings */
export function namedWords(words: readonly (readonly [word: string, meaning: 'yes' | 'no' | null])[]): WordReader {
  const named = new Map<string, boolean>()
  for (const [word, meaning] of words) {
    if (meaning === null) continue
    const isYes = meaning === 'yes'
    if (named.get(fold(word)) === !isYes) throw usageError(`"${word}" is given both as a yes and as a no`)
    named.set(fold(word), isYes)
  }
  return word => named.get(fold(word))
}

let common: ReadonlyMap<string, boolean> | undefined

export const commonWords: WordReader = word => {
  common ??= new Map([
    ...commonYes.split(' ').map(each => [each, true] as const),
    ...commonNo.split(' ').map(each => [each, false] as const),
  ])
  const folded = fold(word)
  return common.get(folded) ?? common.get(folded.replaceAll(/[ _]/g, '-'))
}

/** NFC, lower case, trimmed. */
export function fold(text: string): string {
  return text.normalize('NFC').trim().toLowerCase()
}

/** -1 for none. Prefers an exact match. @throws UsageError for two */
export function findColumn(header: readonly string[], column: string, where = 'the header'): number {
  const matches = (isEqual: (name: string) => boolean) =>
    header.flatMap((name, index) => (isEqual(name) ? [index] : []))
  const exact = matches(name => name === column)
  const found = exact.length > 0 ? exact : matches(name => fold(name) === fold(column))
  if (found.length > 1) throw usageError(`${where} has the column "${column}" twice`)
  return found[0] ?? -1
}

export function missingColumn(header: readonly string[], column: string, where = 'the header'): CliError {
  const names = header.filter(name => name.trim() !== '')
  return usageError(`${where} has no column "${column}", which the map names`, `it has ${names.join(', ')}`)
}
