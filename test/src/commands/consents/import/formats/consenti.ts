import { csvFile, csvRow, type Fixture, hostile, openBook, seeded } from './truth.ts'

const header = (isNew: boolean) => [
  'id',
  'visitor_id',
  'profile_id',
  'locale',
  'consent_json',
  'gpc_detected',
  'source',
  ...(isNew ? ['signature'] : []),
  'created_at',
  'updated_at',
]
const files = ['consents-0.2.csv', 'consents-0.3.csv'] as const

/** The present state of each record; nothing of what was before. */
export function consenti(seed: number, rows: number): Fixture {
  const random = seeded(seed)
  const book = openBook(random)
  const row = (
    isNew: boolean,
    id: string,
    visitor: string,
    consent: string,
    source: string,
    at: string,
    signature = '',
  ) =>
    csvRow([
      id,
      visitor,
      'prof-a1',
      'de',
      consent,
      random.pick(['0', '1']),
      source,
      ...(isNew ? [signature] : []),
      '2024-01-01T00:00:00.000Z',
      at,
    ])

  const person = (): void => {
    const file = random.pick(files)
    const isNew = file === files[1]
    const id = random.uuid()
    const visitor = random.chance(0.1) ? `${random.pick(hostile)}${random.hex(8)}` : random.uuid()
    const [at = 0] = random.times(1)
    const [analytics, ads] = [random.chance(0.5), random.chance(0.5)]
    const consent = JSON.stringify({
      session: 'granted',
      ga: analytics ? 'granted' : random.pick(['denied', 'objected']),
      fbp: ads ? 'granted' : 'denied',
    })
    const signature = isNew ? random.hex(64) : ''
    const source = random.pick(['banner', 'banner', 'banner', 'api', 'import'])
    const text = row(isNew, id, visitor, consent, source, new Date(at).toISOString(), signature)
    if (source === 'import') {
      book.add(file, text, 'left_out')
      return
    }
    book.answer(file, [text], true)
    const record = {
      id,
      subject_id: visitor,
      consent_id: 'prof-a1',
      notice_locale: 'de',
      ...(isNew && { evidence: signature }),
    }
    const preferences = { session: true, analytics, ads }
    book.person({ record, answers: [{ at, accepted: analytics || ads, preferences, policyVersion: 5, files: [file] }] })
  }

  const yes = '{"session":"granted","ga":"granted"}'
  const [file] = files
  book.refuse(file, [row(false, '', 'v', yes, 'banner', '2024-05-01T10:00:00.000Z')], 'field')
  book.refuse(file, [row(false, random.uuid(), 'v', yes, 'banner', 'Wed May 01 2024 10:00:00 GMT+0000 (UTC)')], 'time')
  book.refuse(file, [row(false, random.uuid(), 'v', '{"session":', 'banner', '2024-05-01T10:00:00.000Z')], 'invalid')
  while (book.rows() < rows) person()
  return book.close(
    Object.fromEntries(
      files.map((name, index) => [name, csvFile(header(index === 1), book.textOf(name), index === 0)]),
    ),
    { policyVersion: 5 },
  )
}
