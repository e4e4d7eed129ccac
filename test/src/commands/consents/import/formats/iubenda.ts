import { type Answer, type Fixture, hostile, openBook, seeded } from './truth.ts'

const kept = { newsletter: 'newsletter', third_party: 'partners', profiling: 'profiling' } as const

/** JSON arrays, newest first in the source; a consent names some of the preferences. */
export function iubenda(seed: number, rows: number): Fixture {
  const random = seeded(seed)
  const book = openBook(random)
  const pages = ['page-1.json', 'page-2.json', 'page-3.json']
  const consent = (subject: object, timestamp: string, preferences: object, more: object = {}) =>
    JSON.stringify({
      id: random.uuid(),
      timestamp,
      owner: '521686',
      source: random.pick(['public', 'private']),
      subject,
      preferences,
      legal_notices: [
        { identifier: 'terms', version: 9 },
        { identifier: 'privacy_policy', version: 7 },
      ],
      proofs: [{ content: random.pick(hostile), form: '<form>' }],
      ip_address: '192.0.2.7',
      ...more,
    })

  const person = (): void => {
    const id = random.chance(0.1) ? `${random.pick(hostile)}#${random.hex(8)}` : random.uuid()
    const subject = { id, email: `${random.hex(8)}@example.com`, full_name: random.pick(hostile), verified: false }
    const answers: Answer[] = []
    let state: Record<string, boolean> = {}
    let evidence = ''
    for (const at of random.times(1 + random.int(4))) {
      const names = random.shuffle(Object.keys(kept) as (keyof typeof kept)[]).slice(0, 1 + random.int(3))
      const stated = names.map(name => [name, random.chance(0.5)] as const)
      const version = random.pick([7, 8])
      const text = consent(
        subject,
        random.pick([new Date(at).toISOString(), new Date(at).toISOString().replace('Z', '+00:00')]),
        Object.fromEntries([
          ...stated.map(([name, value]) => [name, value && random.chance(0.2) ? 'yes' : value]),
          ...Object.keys(kept).flatMap(name => (names.some(each => each === name) ? [] : [[name, 'later']])),
        ]),
        { legal_notices: [{ identifier: 'privacy_policy', version }] },
      )
      const file = random.pick(pages)
      book.answer(file, [text], answers.length === 0)
      if (answers.length === 0) evidence = (JSON.parse(text) as { id: string }).id
      state = { ...state, ...Object.fromEntries(stated.map(([name, value]) => [kept[name], value])) }
      answers.push({
        at,
        accepted: Object.values(state).includes(true),
        preferences: state,
        policyVersion: version,
        files: [file],
      })
    }
    book.person({ record: { id, subject_id: id, ip_address: '192.0.2.7', evidence }, answers })
  }

  const at = '2024-05-01T10:00:00.000Z'
  book.refuse('page-1.json', [consent({ email: 'maria@example.com' }, at, { newsletter: true })], 'field')
  book.refuse('page-1.json', [consent({ id: 'x'.repeat(300) }, at, { newsletter: true })], 'field')
  book.refuse('page-1.json', [consent({ id: 'no-notice' }, at, { newsletter: true }, { legal_notices: [] })], 'field')
  book.refuse('page-1.json', [consent({ id: 'no-time' }, '', { newsletter: true })], 'time')
  while (book.rows() < rows) person()
  return book.close(
    Object.fromEntries(pages.map(page => [page, Buffer.from(`[\n${book.textOf(page).join(',\n')}\n]\n`)])),
  )
}
