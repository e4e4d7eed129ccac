/** Returns a semicolon if the locale's numbers have a decimal comma, and in Switzerland. */
export function excelSeparator(env: Readonly<Record<string, string | undefined>>): 'comma' | 'semicolon' {
  const named = env['LC_ALL'] || env['LC_NUMERIC'] || env['LANG']
  if (named && /^(C|POSIX)\b/.test(named)) return 'comma'
  const { locale } = new Intl.NumberFormat(toTag(named)).resolvedOptions()
  const decimal = new Intl.NumberFormat(locale).formatToParts(0.5).find(({ type }) => type === 'decimal')
  return decimal?.value === ',' || /-(CH|LI)\b/.test(locale) ? 'semicolon' : 'comma'
}

/** `de_DE.UTF-8` → `de-DE`; an invalid name becomes `en`. */
function toTag(locale: string | undefined): string | undefined {
  const tag = locale?.replace(/[.@].*$/s, '').replaceAll('_', '-')
  try {
    return Intl.getCanonicalLocales(tag)[0]
  } catch {
    return 'en'
  }
}
