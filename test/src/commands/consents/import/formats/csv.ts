import { type Answer, csvFile, csvRow, type Fixture, hostile, localTime, openBook, seeded } from './truth.ts'
import { zip } from './zip.ts'

const zone = 'Europe/Rome'
const archive = 'receipts.zip'
const header = ['Receipt', 'Email', 'Date', 'Version', 'Status', 'Purpose: Newsletter', 'Purpose: Profiling', 'Note']

/** A file of nobody in particular, with the words that are not consent. */
export function csv(seed: number, rows: number): Fixture {
  const random = seeded(seed)
  const book = openBook(random)
  const write = (at: number) => localTime(at, zone).replace(/^(\d+)-(\d+)-(\d+) (\d+:\d+).*/s, '$3/$2/$1 $4')
  const row = (id: string, email: string, date: string, status: string, answers: readonly string[], version = '1') =>
    csvRow([id, email, date, version, status, ...answers, random.pick(hostile)])
  const word = { true: 'Yes', false: 'No' }

  const person = (): void => {
    const id = random.uuid()
    const email = `${random.hex(8)}@example.com`
    const answers: Answer[] = []
    for (const ms of random.times(1 + random.int(3))) {
      const at = ms - (ms % 60_000) + answers.length * 120_000
      const status = random.pick(['ACTIVE', 'ACTIVE', 'WITHDRAWN', 'IMPLICIT', 'NO_CHOICE', 'PENDING'])
      const [newsletter, profiling] = [random.chance(0.5), random.chance(0.5)]
      const isStated = random.chance(0.7)
      const words = [word[`${newsletter}`], isStated ? word[`${profiling}`] : '']
      const version = random.pick(['1', '2'])
      const text = row(id, email, write(at), status, words, version)
      if (status !== 'ACTIVE' && status !== 'WITHDRAWN') {
        book.add('2024.csv', text, 'left_out')
        continue
      }
      book.answer('2024.csv', [text], answers.length === 0)
      answers.push({
        at,
        accepted: status === 'ACTIVE',
        preferences: { newsletter, ...(isStated && { profiling }) },
        policyVersion: Number(version),
        files: [archive],
      })
    }
    if (answers.length > 0) book.person({ record: { id, subject_id: email }, answers })
  }

  book.refuse('2024.csv', [row('', 'maria@example.com', '01/05/2024 10:00', 'ACTIVE', ['Yes', 'No'])], 'field')
  book.refuse('2024.csv', [row('a', 'maria@example.com', '31/02/2024 10:00', 'ACTIVE', ['Yes', 'No'])], 'time')
  book.refuse('2024.csv', [row('b', 'maria@example.com', '05/31/2024 10:00', 'ACTIVE', ['Yes', 'No'])], 'time')
  const both = [
    row('c', 'maria@example.com', '01/05/2024 10:00', 'ACTIVE', ['Yes', 'No']),
    row('c', 'maria@example.com', '01/05/2024 10:00', 'WITHDRAWN', ['No', 'No']),
  ]
  book.refuse('2024.csv', both, 'contradiction')
  while (book.rows() < rows) person()
  return book.close(
    { [archive]: zip({ '2024.csv': csvFile(header, book.textOf('2024.csv'), true) }) },
    { timezone: zone },
  )
}
