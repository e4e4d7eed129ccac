import { fieldOf } from './columns.ts'
import { commonWords, fold } from './words.ts'

export interface Sample {
  readonly column: string
  readonly cells: readonly string[]
}

/** Columns with more distinct words do not hold answers. */
export const maxWords = 12

/** Without accents and punctuation, in order of preference. */
const names: Readonly<Record<string, string>> = {
  subject_id:
    'email, e mail, mail, email address, e mail address, email adresse, e mail adresse, mailadresse, emailadresse, ' +
    'adresse email, adresse e mail, courriel, correo, correo electronico, indirizzo email, posta elettronica, e mailadres, ' +
    'email adres, e postadress, e post, epost, sahkoposti, adres email, adres e mail, subject, data subject, ' +
    'customer id, customer number, customer, user id, member id, kundennummer, kunden nr, numero client, klantnummer',
  accepted:
    'consent, consent status, consent given, opt in, optin, opt in status, granted, einwilligung, zustimmung, einverstanden, ' +
    'consentement, accepte, consentimiento, aceptado, consenso, consentimento, toestemming, samtycke, samtykke, suostumus, ' +
    'zgoda, souhlas, akzeptiert, status, statut, estado, stato, answer, antwort, response, decision',
  policy_version: 'policy, policy version, version, richtlinie, richtlinienversion, version de la politique',
  ip_address: 'ip, ip adresse, adresse ip, direccion ip, indirizzo ip, ip adres, client ip, remote addr',
  user_agent: 'useragent, browser',
  consent_id: 'label, consent label',
}

export function guessFields(samples: readonly Sample[], fields: readonly string[]): Record<string, string> {
  const guessed: Record<string, string> = {}
  const isFree = ({ column }: Sample) => !Object.values(guessed).includes(column)
  for (const { column } of samples) {
    const field = fieldOf(column, fields)
    if (field !== undefined && !Object.hasOwn(guessed, field)) guessed[field] = column
  }
  for (const field of fields.filter(each => !Object.hasOwn(guessed, each))) {
    const sample = byName(samples.filter(isFree), field) ?? byCells(samples.filter(isFree), field)
    if (sample) guessed[field] = sample.column
  }
  return guessed
}

function byName(samples: readonly Sample[], field: string): Sample | undefined {
  const known = names[field]?.split(', ') ?? []
  const found = samples.filter(sample => known.includes(simplify(sample.column)) && fits(sample, field))
  return found.sort((a, b) => known.indexOf(simplify(a.column)) - known.indexOf(simplify(b.column)))[0]
}

/** Only if no other column looks like the field. */
function byCells(samples: readonly Sample[], field: string): Sample | undefined {
  const looks = cellsOf[field]
  const found = looks ? samples.filter(({ cells }) => filled(cells).length > 0 && filled(cells).every(looks)) : []
  return found.length === 1 ? found[0] : undefined
}

const cellsOf: Readonly<Record<string, (cell: string) => boolean>> = {
  subject_id: cell => /^[^\s@]+@[^\s@]+\.[^\s@]+$/.test(cell.trim()),
  accepted: isYesOrNo,
}

/** Numbers can mean anything. */
export function isYesOrNo(cell: string): boolean {
  return commonWords(cell) !== undefined && !/\d/.test(cell)
}

function fits({ cells }: Sample, field: string): boolean {
  if (field === 'policy_version') return filled(cells).every(cell => /^\d{1,10}$/.test(cell))
  return field !== 'accepted' || new Set(filled(cells).map(fold)).size <= maxWords
}

export function filled(cells: readonly string[]): readonly string[] {
  return cells.filter(cell => cell !== '')
}

function simplify(name: string): string {
  const letters = fold(name).normalize('NFD').replace(/\p{M}/gu, '')
  return letters.replace(/[^\p{L}\p{N}]+/gu, ' ').trim()
}
