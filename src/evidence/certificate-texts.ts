import de from './certificate-texts/de.json' with { type: 'json' }
import en from './certificate-texts/en.json' with { type: 'json' }
import es from './certificate-texts/es.json' with { type: 'json' }
import fr from './certificate-texts/fr.json' with { type: 'json' }
import it from './certificate-texts/it.json' with { type: 'json' }
import nl from './certificate-texts/nl.json' with { type: 'json' }
import pl from './certificate-texts/pl.json' with { type: 'json' }
import pt from './certificate-texts/pt.json' with { type: 'json' }

type Texts = typeof en

/** A text with values in braces. `certificate.md` says when each is used. */
export type TextKey = Exclude<keyof Texts, 'months'>

const all = { en, de, es, fr, it, nl, pl, pt } as const satisfies Readonly<Record<string, Texts>>

export type Language = keyof typeof all

export const languages = Object.keys(all) as readonly Language[]

export const textsIn: Readonly<Record<Language, Texts>> = all

/** Null if there are no texts in this language. `tag`: BCP 47, such as `de-AT`. */
export function findLanguage(tag: string): Language | null {
  const primary = primaryOf(tag)
  return languages.find(language => language === primary) ?? null
}

export function primaryOf(tag: string): string {
  return tag.replace(/-.*$/, '').toLowerCase()
}

/** Such as `Deutsch (de-AT)`, or the tag alone. */
export function nameLanguage(tag: string): string {
  const language = findLanguage(tag)
  return language ? `${textsIn[language].name} (${tag})` : tag
}

/** `at`: RFC 3339 in UTC. Omits fractions of a second. Does not use `Intl`, whose words change with its version. */
export function formatDate(language: Language, at: string): string {
  const { date, months } = textsIn[language]
  const [, year = '', month = '', day = '', time = ''] = /^(\d{4})-(\d\d)-(\d\d)T(\d\d:\d\d:\d\d)/.exec(at) ?? []
  const values = { year, month: months[Number(month) - 1] ?? '', day: String(Number(day)), time }
  return date.replace(/\{(\w+)\}/g, (_, name: keyof typeof values) => values[name])
}
