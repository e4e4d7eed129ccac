import type { Consent, ConsentPage } from '../contract/consents.ts'

type Fields<T> = readonly (readonly [name: keyof T & string, isOwn: (value: unknown) => boolean])[]

/**
 * Whether a body, fresh from JSON.parse, is a page of a list as this service writes it: every field is there, in its place
 * and of its type, and nothing else. `ConsentPage` would make the very same of it, and take as long as all the rest.
 */
export function isOwnPage(body: unknown): body is ConsentPage {
  return hasFields(body, pageFields)
}

function hasFields<T>(value: unknown, fields: Fields<T>): boolean {
  if (!isObject(value)) return false
  let index = 0
  for (const name in value) {
    const field = fields[index]
    if (field?.[0] !== name || !field[1](value[name])) return false
    index += 1
  }
  return index === fields.length
}

const isText = (value: unknown) => typeof value === 'string'
const isTextOrNull = (value: unknown) => value === null || typeof value === 'string'
const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const consentFields: Fields<Consent> = [
  ['id', isText],
  ['site_id', isText],
  ['consent_id', isTextOrNull],
  ['subject_id', isTextOrNull],
  ['country', isTextOrNull],
  ['region', isTextOrNull],
  ['user_agent', isTextOrNull],
  ['accepted', value => typeof value === 'boolean'],
  ['preferences', value => isObject(value) && !Object.hasOwn(value, '__proto__')], // which the schema leaves out
  ['policy_version', Number.isFinite],
  ['created_at', isText],
  ['updated_at', isText],
  ['deleted_at', value => isTextOrNull(value) && value !== ''], // which the schema reads as none
]

const pageFields: Fields<ConsentPage> = [
  ['data', value => Array.isArray(value) && value.every(record => hasFields(record, consentFields))],
  ['limit', Number.isSafeInteger],
  ['next_cursor', isTextOrNull],
]
