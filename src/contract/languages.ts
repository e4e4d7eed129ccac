import * as z from 'zod'

const maxLength = 35

/** Returns the canonical form of a BCP 47 language tag of at most 35 characters (`de-DE`); null for anything else. */
export function canonicalLanguage(tag: string): string | null {
  if (tag.length > maxLength) return null
  try {
    const [canonical = ''] = Intl.getCanonicalLocales(tag)
    return canonical.length <= maxLength ? canonical || null : null
  } catch {
    return null
  }
}

export const LanguageTag = z
  .string('must be text')
  .refine(tag => canonicalLanguage(tag) !== null, 'must be a BCP 47 language tag, such as de or pt-BR')
  .overwrite(tag => canonicalLanguage(tag) ?? tag)
  .meta({ maxLength, pattern: '^[A-Za-z]{2,8}(-[A-Za-z\\d]{1,8})*$', examples: ['de'] })
