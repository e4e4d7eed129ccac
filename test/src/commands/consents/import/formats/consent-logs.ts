import { type Answer, csvFile, csvRow, type Fixture, hostile, localTime, openBook, seeded } from './truth.ts'

const zone = 'Europe/Berlin'
const file = 'log.csv'

type Random = ReturnType<typeof seeded>

interface Log {
  readonly header: readonly string[]
  readonly categories: readonly string[]
  /** Given in every answer. */
  readonly always?: string
  readonly isOfOne?: true
  readonly zone?: string
  readonly cells: (random: Random, id: string, at: number, given: readonly boolean[], word: string) => string[]
  readonly details: (id: string) => Record<string, string>
  /** A row that is no answer. */
  readonly view?: (random: Random, id: string, at: number) => string[]
}

/** A log of a cookie banner: a row a choice, with a column a category. */
function consentLog(log: Log) {
  return (seed: number, rows: number): Fixture => {
    const random = seeded(seed)
    const book = openBook(random)
    const asked = log.categories.filter(category => category !== log.always)
    const row = (id: string, at: number, given: readonly boolean[]) => {
      const yes = given.filter(Boolean).length - (log.always === undefined ? 0 : 1)
      const word = yes === 0 ? 'Rejected' : yes === asked.length ? 'Accepted' : 'Partially accepted'
      return csvRow(log.cells(random, id, at, given, word))
    }
    const choice = () => log.categories.map(category => category === log.always || random.chance(0.5))
    const person = (): void => {
      const id = String(1 + random.int(1e9))
      const answers: Answer[] = []
      for (const ms of random.times(log.isOfOne ? 1 : 1 + random.int(3))) {
        const at = ms - (ms % 1000)
        const given = choice()
        if (log.view && random.chance(0.2)) book.add(file, csvRow(log.view(random, id, at - 5000)), 'left_out')
        book.answer(file, [row(id, at, given)], answers.length === 0)
        const preferences = Object.fromEntries(log.categories.map((name, index) => [name, given[index] === true]))
        const accepted = asked.some(name => preferences[name])
        answers.push({ at, accepted, preferences, policyVersion: 3, files: [file] })
      }
      book.person({ record: { id, subject_id: id, ...log.details(id) }, answers })
    }
    const at = Date.UTC(2024, 4, 1, 10)
    book.refuse(file, [row('', at, choice())], 'field')
    book.refuse(file, [row('a', Date.UTC(2999, 0, 1), choice())], 'time')
    const [one, other] = [log.categories.map(() => true), log.categories.map(name => name === log.always)]
    book.refuse(file, [row('c', at, one), row('c', at, other)], 'contradiction')
    while (book.rows() < rows) person()
    const files = { [file]: csvFile(log.header, book.textOf(file), random.chance(0.5)) }
    return book.close(files, { policyVersion: 3, ...(log.zone && { timezone: log.zone }) })
  }
}

const utc = (at: number) => new Date(at).toISOString().slice(0, 19).replace('T', ' ')

export const cookiebot = consentLog({
  header: ['Key', 'Date', 'IP', 'User agent', 'URL', 'Preferences', 'Statistics', 'Marketing'],
  categories: ['preferences', 'statistics', 'marketing'],
  zone: 'UTC',
  cells: (_, id, at, given) => [id, utc(at), '192.0.2.0', 'Mozilla/5.0', 'https://shop.example/', ...given.map(String)],
  details: () => ({ user_agent: 'Mozilla/5.0', evidence: 'https://shop.example/' }),
})

export const cookieyes = consentLog({
  header: [
    ...['Consented domain', 'Consent date', 'Consent ID', 'Location', 'Anonymized IP address', 'Consent status'],
    ...['Necessary', 'Functional', 'Analytics', 'Advertisement'],
  ],
  categories: ['necessary', 'functional', 'analytics', 'advertisement'],
  always: 'necessary',
  zone: 'UTC',
  cells: (random, id, at, given, word) => [
    ...['shop.example', new Date(at).toISOString(), id, random.pick(hostile), '192.0.2.0', word],
    ...given.map(each => (each ? 'yes' : 'no')),
  ],
  details: () => ({ evidence: 'shop.example' }),
})

/** The clock of the site, as if it were that of UTC. */
const localSeconds = (at: number) => String(Date.parse(`${localTime(at, zone).replace(' ', 'T')}Z`) / 1000)

const complianzRow = (id: string, at: number, flags: readonly string[], given: readonly boolean[]) => [
  ...[id, 'eu', 'optin', '192.0.2.***', localSeconds(at), 'https://shop.example/poc.pdf', '3', ...flags],
  ...[...given.map(each => (each ? '1' : '0')), 'youtube', '1', 'May 1, 2024 at 10:00'],
]

export const complianz = consentLog({
  header: [
    ...['ID', 'region', 'consenttype', 'ip', 'time', 'poc_url', 'pageviews', 'no_warning', 'do_not_track', 'no_choice'],
    ...['functional', 'preferences', 'statistics', 'marketing', 'services', 'cookiebanner_id', 'Date'],
  ],
  categories: ['functional', 'preferences', 'statistics', 'marketing'],
  always: 'functional',
  isOfOne: true,
  zone,
  cells: (_, id, at, given) => complianzRow(id, at, ['0', '0', '0'], given),
  details: () => ({ consent_id: 'optin', evidence: 'https://shop.example/poc.pdf' }),
  view: (random, id, at) => {
    const flags = random.pick(['100', '001', '010'])
    return complianzRow(`${id}9`, at, [...flags], [true, false, false, false])
  },
})

/** A row a purpose, each with a time of its own. */
export function onetrust(seed: number, rows: number): Fixture {
  const random = seeded(seed)
  const book = openBook(random)
  const names = { Newsletter: 'newsletter', Profiling: 'profiling' } as const
  const row = (id: string, purpose: string, status: string, time: string) =>
    csvRow([id, random.pick(hostile), purpose, status, time, `r-${id}`])
  const person = (): void => {
    const id = `${random.hex(8)}@example.com`
    const answers: Answer[] = []
    let preferences: Record<string, boolean> = {}
    const purposes = random.shuffle(Object.keys(names) as (keyof typeof names)[])
    for (const [index, at] of random.times(purposes.length).entries()) {
      const purpose = purposes[index] as keyof typeof names
      const status = random.pick(['ACTIVE', 'ACTIVE', 'WITHDRAWN', 'PENDING', 'NO_CHOICE', 'EXPIRED'])
      const text = row(id, purpose, status, new Date(at).toISOString())
      if (status !== 'ACTIVE' && status !== 'WITHDRAWN') {
        book.add('purposes.csv', text, 'left_out')
        continue
      }
      book.answer('purposes.csv', [text], answers.length === 0)
      preferences = { ...preferences, [names[purpose]]: status === 'ACTIVE' }
      const accepted = Object.values(preferences).includes(true)
      answers.push({ at, accepted, preferences, policyVersion: 3, files: ['purposes.csv'] })
    }
    if (answers.length > 0) book.person({ record: { id, subject_id: id, evidence: `r-${id}` }, answers })
  }
  book.refuse('purposes.csv', [row('', 'Newsletter', 'ACTIVE', '2024-05-01T10:00:00Z')], 'field')
  book.refuse('purposes.csv', [row('a', 'Newsletter', 'ACTIVE', 'soon')], 'time')
  const both = ['ACTIVE', 'WITHDRAWN'].map(status => row('c', 'Newsletter', status, '2024-05-01T10:00:00Z'))
  book.refuse('purposes.csv', both, 'contradiction')
  while (book.rows() < rows) person()
  const header = ['Identifier', 'Name', 'Purpose Name', 'Status', 'Last Transaction Date', 'Receipt ID']
  return book.close(
    { 'purposes.csv': csvFile(header, book.textOf('purposes.csv'), true) },
    { policyVersion: 3, timezone: 'UTC' },
  )
}
