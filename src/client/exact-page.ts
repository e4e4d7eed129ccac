import type { Consent, ConsentPage } from '../contract/consents.ts'

type Fields<T> = readonly (readonly [name: keyof T & string, isValid: (value: unknown) => boolean, canLack?: true])[]

/**
 * Returns true if a parsed body has exactly the fields of a ConsentPage, in this service's order and types. Parsing
 * it with `ConsentPage` would change nothing and double the time of a list.
 */
export function isExactPage(body: unknown): body is ConsentPage {
  return hasFields(body, pageFields)
}

export function isExactConsent(body: unknown): body is Consent {
  return hasFields(body, consentFields)
}

function hasFields<T>(value: unknown, fields: Fields<T>): boolean {
  if (!isObject(value)) return false
  let index = 0
  for (const name in value) {
    while (fields[index]?.[0] !== name && fields[index]?.[2]) index += 1
    const field = fields[index]
    if (field?.[0] !== name || !field[1](value[name])) return false
    index += 1
  }
  while (fields[index]?.[2]) index += 1
  return index === fields.length
}

const isText = (value: unknown) => typeof value === 'string'
const isTextOrNull = (value: unknown) => value === null || typeof value === 'string'
const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const originFields: Fields<NonNullable<Consent['origin']>> = [
  ['system', isText],
  ['id', isTextOrNull],
  ['evidence', isTextOrNull],
]

const consentFields: Fields<Consent> = [
  ['id', isText],
  ['site_id', isText],
  ['consent_id', isTextOrNull],
  ['subject_id', isTextOrNull],
  ['country', isTextOrNull],
  ['region', isTextOrNull],
  ['user_agent', isTextOrNull],
  ['accepted', value => typeof value === 'boolean'],
  ['preferences', value => isObject(value) && !Object.hasOwn(value, '__proto__')], // the schema drops the key __proto__
  ['policy_version', Number.isFinite],
  ['created_at', isText],
  ['updated_at', isText],
  ['deleted_at', value => isTextOrNull(value) && value !== ''], // the schema reads '' as null
  ['notice_locale', isText, true],
  ['expires_at', isText, true],
  ['given_at', isText, true],
  ['origin', value => hasFields(value, originFields), true],
  ['gpc', value => typeof value === 'boolean', true],
]

const pageFields: Fields<ConsentPage> = [
  ['data', value => Array.isArray(value) && value.every(record => hasFields(record, consentFields))],
  ['limit', Number.isSafeInteger],
  ['next_cursor', isTextOrNull],
]
