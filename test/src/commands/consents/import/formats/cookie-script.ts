import { type Answer, csvFile, csvRow, type Fixture, hostile, localTime, openBook, seeded } from './truth.ts'
import { zip } from './zip.ts'

const zone = 'America/New_York'
const days = ['2026-05-01', '2026-05-02', '2026-05-03']
const archive = 'consents.zip'
const optional = ['performance', 'targeting', 'functionality', 'unclassified'] as const

/** Zipped CSVs in a ZIP, without a header, in the time of the browser. */
export function cookieScript(seed: number, rows: number): Fixture {
  const random = seeded(seed)
  const book = openBook(random)
  const row = (key: string, action: string, time: string, categories: readonly string[]) =>
    csvRow([
      key,
      action,
      '192.0.2.0',
      time,
      `https://shop.example/${random.pick(hostile)}`,
      'Mozilla/5.0',
      categories.join(','),
      'We use cookies.\nAgree?',
    ])

  const person = (): void => {
    const key = random.uuid()
    const answers: Answer[] = []
    let evidence = ''
    for (const at of random.times(1 + random.int(3))) {
      const day = random.pick(days)
      if (random.chance(0.1)) book.add(day, row(key, 'close', localTime(at - 3000, zone), []), 'left_out')
      const chosen = random.chance(0.6) ? random.shuffle(optional).slice(0, 1 + random.int(4)) : []
      const categories = random.chance(0.8) ? ['strict', ...chosen] : chosen
      const text = row(key, chosen.length > 0 ? 'accept' : 'reject', localTime(at, zone), categories)
      book.answer(day, [text], answers.length === 0)
      if (answers.length === 0)
        evidence = /https:\/\/shop\.example\/(.*?)(?="?,Mozilla)/s.exec(text)?.[0].replaceAll('""', '"') ?? ''
      answers.push({
        at,
        accepted: chosen.length > 0,
        preferences: Object.fromEntries(categories.map(name => [name, true])),
        policyVersion: 4,
        files: [archive],
      })
    }
    book.person({ record: { id: key, subject_id: key, user_agent: 'Mozilla/5.0', evidence }, answers })
  }

  const [day = ''] = days
  book.refuse(day, [row('', 'accept', '2024-05-01 10:00:00', ['targeting'])], 'field')
  book.refuse(day, [row('a', 'accept', '2024-11-03 01:30:00', ['targeting'])], 'time') // happens twice
  book.refuse(day, [row('b', 'accept', '2024-03-10 02:30:00', ['targeting'])], 'time') // does not happen
  book.refuse(day, [row('c', 'accept', '01/05/2024 10:00', ['targeting'])], 'time')
  while (book.rows() < rows) person()
  const entry = (name: string) => [`${name}.zip`, zip({ [`${name}.csv`]: csvFile(null, book.textOf(name), false) })]
  return book.close({ [archive]: zip(Object.fromEntries(days.map(entry))) }, { policyVersion: 4, timezone: zone })
}
