import { type Answer, csvFile, csvRow, type Fixture, hostile, localTime, openBook, seeded } from './truth.ts'

const zone = 'Europe/Paris'
const names = { 1: 'functional', 2: 'analytics', 3: 'marketing' } as const
const header = (person: string) => [
  'id_hit',
  'id_tagcommander',
  'id_privacy',
  'version',
  'cookie',
  person,
  'date_hit',
  'privacy_action',
  'type_action',
  'device',
]
const files = ['week-1.csv', 'week-2.csv'] as const

/** One row a hit; views of the banner are most of them. */
export function commandersAct(seed: number, rows: number): Fixture {
  const random = seeded(seed)
  const book = openBook(random)
  let hits = 1_000_000
  const hit = (id: string, time: string, action: string, categories: readonly (string | number)[], version = '12') => {
    hits += 1
    return csvRow([
      String(hits),
      '31',
      '26',
      version,
      categories.join(','),
      id,
      time,
      action,
      random.pick(['banner', 'pc']),
      '3',
    ])
  }

  const person = (): void => {
    const id = random.chance(0.1) ? `${random.pick(hostile)}${random.hex(12)}` : random.hex(40)
    const answers: Answer[] = []
    let evidence = ''
    for (const at of random.times(1 + random.int(3))) {
      const file = random.pick(files)
      if (random.chance(0.7)) book.add(file, hit(id, localTime(at - 4000, zone), 'V', []), 'left_out')
      const chosen = random.chance(0.6) ? random.shuffle([1, 2, 3] as const).slice(0, 1 + random.int(3)) : []
      const version = random.pick([12, 13])
      const action = chosen.length > 0 ? '1' : random.pick(['0', '-1'])
      const text = hit(id, localTime(at, zone), action, chosen, String(version))
      book.answer(file, [text], answers.length === 0)
      if (answers.length === 0) evidence = String(hits)
      const preferences = Object.fromEntries(chosen.map(category => [names[category], true]))
      answers.push({ at, accepted: chosen.length > 0, preferences, policyVersion: version, files: [file] })
    }
    book.person({ record: { id, subject_id: id, consent_id: '26', evidence }, answers })
  }

  const [file] = files
  book.refuse(file, [hit('', '2024-05-01 10:00:00', '1', [1])], 'field')
  book.refuse(file, [hit('a', '2024-10-27 02:00:00', '1', [1])], 'time') // happens twice
  book.refuse(file, [hit('b', '2024-03-31 02:59:59', '1', [1])], 'time') // does not happen
  book.refuse(file, [hit('c', '', '0', [])], 'time')
  book.refuse(
    file,
    [hit('d', '2024-05-01 10:00:00', '1', [1]), hit('d', '2024-05-01 10:00:00', '0', [])],
    'contradiction',
  )
  while (book.rows() < rows) person()
  return book.close(
    {
      [files[0]]: csvFile(header('tc_p_id'), book.textOf(files[0]), true),
      [files[1]]: csvFile(header('tcpid'), book.textOf(files[1]), false),
    },
    { timezone: zone },
  )
}
