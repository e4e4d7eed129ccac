import * as z from 'zod'

const maxLength = 35

/** Language, script, region and variants, without extensions. */
const form = /^[A-Za-z]{2,3}(-[A-Za-z]{4})?(-([A-Za-z]{2}|\d{3}))?(-([A-Za-z\d]{5,8}|\d[A-Za-z\d]{3}))*$/

/** Canonical BCP 47 tag (`de-DE`) of at most 35 characters, or null. */
export function canonicalLanguage(tag: string): string | null {
  if (tag.length > maxLength || !form.test(tag)) return null
  try {
    return Intl.getCanonicalLocales(tag)[0] ?? null
  } catch {
    return null // a repeated variant
  }
}

/** Canonical, so that equal languages are equal. */
export const LanguageTag = z
  .string('must be text')
  .refine(tag => canonicalLanguage(tag) !== null, 'must be a BCP 47 language tag, such as de or pt-BR')
  .overwrite(tag => canonicalLanguage(tag) ?? tag)
  .meta({ maxLength, pattern: form.source, examples: ['de'] })
