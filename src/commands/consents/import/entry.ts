import { ConsentDraft } from '../../../contract/consents.ts'
import { text } from '../../../contract/values.ts'
import { dataError } from '../../../errors/errors.ts'
import { decode, type Line } from '../../../io/input.ts'
import { readObject } from '../fields.ts'

/** A line with what it asks to create, or with why it is no record. */
export interface Entry {
  readonly line: Line
  readonly body: ConsentDraft | null
  readonly error: unknown
}

/** The contract's draft, but for the site: another instance may write ids in its own way. */
const Draft = ConsentDraft.extend({ site_id: text(1, 255) })

/** What a line asks to create, as `fieldsOf` reads it and `toBody` makes a record of it. Never throws: an error is in the entry. */
export function entryOf(
  line: Line,
  fieldsOf: (line: Line) => object,
  site: string | undefined,
  toBody: typeof bodyOf,
): Entry {
  try {
    return { line, body: toBody({ site_id: site, ...fieldsOf(line) }, `line ${line.number}`), error: null }
  } catch (error) {
    return { line, body: null, error }
  }
}

/** The fields in a line of JSON. Throws a data error that begins with the line's number. */
export function jsonFields({ number, bytes }: Line): object {
  const name = `line ${number}`
  return readObject(decode(bytes, name), name)
}

/** The same of a line that was found good before: what is wrong with it all the same is looked for where it is no object. */
export function jsonFieldsAgain(line: Line): object {
  try {
    const value: unknown = JSON.parse(decode(line.bytes, ''))
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value
  } catch {}
  return jsonFields(line)
}

/** The fields as they are, which make a record. */
export function uncheckedBodyOf(fields: { site_id: unknown }): ConsentDraft {
  return fields as ConsentDraft
}

/** The fields as they are, where they make a record. Throws a data error that begins with the line's number. */
export function bodyOf(fields: { site_id: unknown }, place: string): ConsentDraft {
  if (fields.site_id === undefined) throw dataError(`${place} has no site_id, and no --site is given`)
  const parsed = Draft.safeParse(fields)
  if (parsed.success) return fields as ConsentDraft
  const [issue] = parsed.error.issues
  if (issue?.code === 'unrecognized_keys') {
    const known = Object.keys(ConsentDraft.shape).join(', ')
    throw dataError(`${place}: "${issue.keys[0]}" is no field of a new record`, `there are: ${known}`)
  }
  throw dataError(`${place}: ${issue?.path.join('.')} ${issue?.message}`)
}
