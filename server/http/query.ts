import { Failure } from '../failure.ts'

const none: Record<string, string> = Object.freeze({})

/**
 * The query string of a URL by the rules of HTML forms, as one value a name. Throws `invalid_request` for a name
 * given twice and for escapes that are no UTF-8: a filter that is read otherwise than meant shows other people's rows.
 */
export function parseQuery(url: string): Record<string, string> {
  const start = url.indexOf('?')
  if (start === -1) return none
  const values: Record<string, string> = Object.create(null)
  for (const pair of url.slice(start + 1).split('&')) {
    if (pair === '') continue
    const equals = pair.indexOf('=')
    const name = decode(equals === -1 ? pair : pair.slice(0, equals))
    if (name in values) throw new Failure('invalid_request', `The query parameter ${name} is given twice.`)
    values[name] = equals === -1 ? '' : decode(pair.slice(equals + 1))
  }
  return values
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch (cause) {
    throw new Failure('invalid_request', 'The query string has a malformed percent-encoding.', { cause })
  }
}
