import { type Answer, type Fixture, hostile, openBook, seeded } from './truth.ts'

const file = 'klaro.ndjson'

/** What Klaro sends, with a visitor and a time. */
export function klaro(seed: number, rows: number): Fixture {
  const random = seeded(seed)
  const book = openBook(random)
  const row = (id: string | undefined, received_at: unknown, type: string, consents: object) =>
    JSON.stringify({
      id,
      received_at,
      location_data: { pathname: `/${random.pick(hostile)}`, port: 0, hostname: 'shop.example', protocol: 'https' },
      user_data: { client_version: 'v0.7.22', client_name: 'klaro:web' },
      consent_data: { consents, changes: type === 'save' ? { matomo: true } : undefined, type, config: 'shop' },
    })

  const person = (): void => {
    const id = random.chance(0.1) ? `${random.pick(hostile)}${random.hex(8)}` : random.uuid()
    const answers: Answer[] = []
    for (const at of random.times(1 + random.int(3))) {
      const time = (ms: number) => (random.chance(0.5) ? ms : new Date(ms).toISOString())
      if (random.chance(0.5)) book.add(file, row(id, time(at - 2000), 'show', {}), 'left_out')
      if (random.chance(0.05)) book.add(file, row(id, time(at - 1000), 'script', { matomo: true }), 'left_out')
      const type = random.pick(['accept', 'decline', 'save', 'contextual-accept'])
      const choice = () => type !== 'decline' && (type === 'accept' || random.chance(0.4))
      const [analytics, video] = [choice(), choice()]
      book.answer(
        file,
        [row(id, time(at), type, { session: true, matomo: analytics, youtube: video })],
        answers.length === 0,
      )
      const preferences = { session: true, analytics, video }
      answers.push({ at, accepted: analytics || video, preferences, policyVersion: 6, files: [file] })
    }
    book.person({ record: { id, subject_id: id, consent_id: 'shop' }, answers })
  }

  book.refuse(file, [row(undefined, 1_714_557_600_000, 'accept', { session: true })], 'field')
  book.refuse(file, [row('a', undefined, 'accept', { session: true })], 'time')
  book.refuse(file, [row('b', 'yesterday', 'decline', { session: true })], 'time')
  while (book.rows() < rows) person()
  return book.close({ [file]: Buffer.from(`${book.textOf(file).join('\n')}\n`) }, { policyVersion: 6 })
}
