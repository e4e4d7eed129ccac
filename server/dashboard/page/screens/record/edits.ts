import { isJson, toSource } from '../../../../../src/output/parts.ts'
import { option } from '../../parts/command.tsx'
import { Mistake } from '../../parts/problem.tsx'

type Values = Readonly<Record<string, unknown>>

export interface Edit {
  readonly name: string
  /** JSON or plain text; empty removes the preference. */
  readonly text: string
}

/** Reads JSON as its type and other text as a string, as `--pref` does. @throws Mistake for JSON such as 1.0, stored as 1 */
function valueIn({ name, text }: Edit): unknown {
  if (!isJson(text)) return text
  const value = JSON.parse(text)
  const kept = JSON.stringify(value)
  if (withoutBlanks(kept) === withoutBlanks(text)) return value
  throw new Mistake(`${name}: the value would be kept as ${kept}. Write it so, or in quotes.`)
}

function withoutBlanks(text: string): string {
  return text.replace(/\s/g, '')
}

/** @throws Mistake for a name that is missing, repeated or `__proto__` */
export function requireNames(edits: readonly Edit[]): void {
  for (const [index, { name, text }] of edits.entries()) {
    if (name === '' && text !== '') throw new Mistake('A preference has no name.')
    if (name === '__proto__') throw new Mistake('A preference cannot be named __proto__.')
    if (name !== '' && edits.findIndex(other => other.name === name) < index)
      throw new Mistake(`The preference ${name} is there twice.`)
  }
}

/** Returns the edits that differ from the shown values. */
export function changed(shown: Values, edits: readonly Edit[]): Edit[] {
  return edits.filter(
    ({ name, text }) => name !== '' && text !== (Object.hasOwn(shown, name) ? toSource(shown[name]) : ''),
  )
}

/** Merges edits into the current preferences. @throws Mistake as `valueIn` */
export function merge(now: Values, edits: readonly Edit[]): Values {
  const removed = new Set(edits.filter(({ text }) => text === '').map(({ name }) => name))
  const kept = Object.entries(now).filter(([name]) => !removed.has(name))
  const set = edits.filter(({ text }) => text !== '').map(edit => [edit.name, valueIn(edit)])
  return Object.fromEntries([...kept, ...set])
}

/** Returns the arguments of `update`, or none if no command makes the change. A removal must repeat the preferences that stay. */
export function commandOf(id: string, shown: Values, accepted: boolean | undefined, edits: readonly Edit[]): string[] {
  const isRemoval = edits.some(({ text }) => text === '')
  const kept = isRemoval ? Object.entries(shown).map(([name, value]) => ({ name, text: toSource(value) })) : []
  const unedited = kept.filter(({ name }) => edits.every(edit => edit.name !== name))
  const given = [...unedited, ...edits].filter(({ text }) => text !== '')
  const isNothing = accepted === undefined && given.length === 0
  if (isNothing || (isRemoval && given.length === 0) || given.some(({ name }) => name.includes('='))) return []
  return [
    'update',
    id,
    ...(accepted === undefined ? [] : [accepted ? '--accepted' : '--refused']),
    ...given.flatMap(({ name, text }) => option('pref', `${name}=${text}`)),
    ...(isRemoval ? ['--replace-preferences'] : []),
  ]
}
