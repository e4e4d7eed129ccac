import { type Answer, csvFile, csvRow, type Fixture, gzip, hostile, openBook, seeded, sha256 } from './truth.ts'

const header = [
  'Controller ID',
  'Timestamp',
  'CMP Configuration ID',
  'CMP Configuration Version',
  'Consent Action',
  'Data Processing Service ID',
  'Data Processing Service Version',
  'Consent Given',
  'Consent String',
]
const services = ['H1x', 'H2y', 'H3z', 'H4w'] as const
const files = ['first.csv', 'second.csv.gz']

/** One row a service; the rows of an answer are not together. */
export function usercentrics(seed: number, rows: number): Fixture {
  const random = seeded(seed)
  const book = openBook(random)
  const event = (time: string, id: string, cells: { version: string; action: string; tcs: string }, given: boolean[]) =>
    services.map((service, index) =>
      csvRow([id, time, 'cfg-1', cells.version, cells.action, service, '1.2.3', String(given[index]), cells.tcs]),
    )
  const id = () => (random.chance(0.05) ? `${random.pick(hostile)}${random.hex(12)}` : random.hex(64))

  const person = (): void => {
    const file = random.pick(files)
    const controller = id()
    const write = random.pick([(at: number) => new Date(at).toISOString(), (at: number) => String(at)])
    const answers: Answer[] = []
    let evidence = ''
    for (const at of random.times(1 + random.int(4))) {
      const version = random.pick(['14.2.7', '15.0.1'])
      const action = random.pick(['onAcceptAllServices', 'onDenyAllServices', 'onUpdateServices'])
      const choice = () => action !== 'onDenyAllServices' && (action === 'onAcceptAllServices' || random.chance(0.4))
      const given = [true, choice(), choice(), choice()]
      const tcs = `CP${random.hex(40)}`
      if (random.chance(0.4)) {
        const view = random.pick(['onInitialPageLoad', 'onSessionRestored', 'onNonEURegion', 'onEssentialChange'])
        const before = event(write(at - 5000), controller, { version, action: view, tcs }, [true, true, true, true])
        for (const row of before) book.add(file, row, 'left_out')
      }
      const parts = event(write(at), controller, { version, action, tcs }, given)
      const dropped = parts.pop() as string
      book.answer(file, parts, answers.length === 0)
      book.add(file, dropped, action === 'onUpdateServices' ? 'left_out' : 'merged')
      if (answers.length === 0) evidence = `sha256:${sha256(tcs)}`
      const [own, analytics, video] = given as [boolean, boolean, boolean]
      answers.push({
        at,
        accepted: action === 'onAcceptAllServices' || (action === 'onUpdateServices' && (analytics || video)),
        preferences: { 'consent-tool': own, analytics, video },
        policyVersion: version === '14.2.7' ? 1 : 2,
        files: [file],
      })
    }
    book.person({ record: { id: `${controller}/cfg-1`, subject_id: controller, evidence }, answers })
  }

  const cells = { version: '14.2.7', action: 'onAcceptAllServices', tcs: '' }
  const all = [true, true, true, true]
  book.refuse('first.csv', event('2024-05-01T10:00:00Z', '', cells, all), 'field')
  book.refuse('first.csv', event('2024-05-01 10:00:00', id(), cells, all), 'time') // no zone
  book.refuse('first.csv', event('2999-01-01T00:00:00Z', id(), cells, all), 'time')
  book.refuse('first.csv', event('soon', id(), cells, all), 'time')
  const both = id()
  book.refuse(
    'first.csv',
    [all, [true, false, true, true]].flatMap(given => event('2024-05-02T10:00:00Z', both, cells, given).slice(1, 2)),
    'contradiction',
  )
  while (book.rows() < rows) person()
  return book.close({
    'first.csv': csvFile(header, book.textOf('first.csv'), true),
    'second.csv.gz': gzip(csvFile(header, book.textOf('second.csv.gz'), false)),
  })
}
