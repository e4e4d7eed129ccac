import { type Answer, type Fixture, gzip, hostile, openBook, seeded } from './truth.ts'

const days = ['2026-05-01.json.gz', '2026-05-02.json.gz']

/** A user and its events a line, or one event; events are partial changes, and may be in the export of two days. */
export function didomi(seed: number, rows: number): Fixture {
  const random = seeded(seed)
  const book = openBook(random)
  const event = (user: object, at: string, consents: object, more: object = {}) =>
    JSON.stringify({
      id: random.uuid(),
      organization_id: 'shop',
      created_at: at,
      status: 'confirmed',
      regulation: 'gdpr',
      user,
      consents: {
        channels: [],
        purposes: [],
        vendors: { enabled: [], disabled: [] },
        tcfcs: `CP${random.hex(20)}`,
        ...consents,
      },
      proofs_id: [],
      delegate: { id: 'desk', name: random.pick(hostile) },
      ...more,
    })
  const purposes = (values: Readonly<Record<string, boolean | null>>) =>
    Object.entries(values).map(([id, enabled]) => ({ id, enabled, enabled_li: true }))

  const person = (): void => {
    const id = random.uuid()
    const subject = random.chance(0.8) ? `${random.pick(hostile)}/${random.hex(10)}` : undefined
    const user = { id, ...(subject && { organization_user_id: subject }), country: 'FR' }
    const answers: Answer[] = []
    let state: Record<string, boolean> = {}
    let evidence = ''
    for (const at of random.times(1 + random.int(5))) {
      const time = new Date(at).toISOString()
      if (random.chance(0.15)) {
        const more = random.pick([{ status: 'pending_approval' }, { regulation: 'cpra' }])
        book.add(
          random.pick(days),
          event(user, time, { purposes: purposes({ cookies: true, analytics: true }) }, more),
          'left_out',
        )
        continue
      }
      const [purpose, email, ads] = [random.pick(['cookies', 'analytics']), random.chance(0.5), random.chance(0.5)]
      const enabled = random.chance(0.5)
      const other = purpose === 'cookies' ? 'analytics' : 'cookies'
      const text = event(user, time, {
        purposes: purposes({ [purpose]: enabled, ...(random.chance(0.5) && { [other]: null }) }),
        channels: purposes({ email }),
        vendors: ads ? { enabled: ['ads-1'], disabled: [] } : { enabled: [], disabled: ['ads-1'] },
      })
      state = { ...state, [purpose]: enabled, email, ads }
      const first = random.pick(days)
      const isInBoth = random.chance(0.1)
      book.answer(first, [text], answers.length === 0)
      if (isInBoth) book.add(days.find(day => day !== first) as string, text, 'duplicates')
      if (answers.length === 0) evidence = (JSON.parse(text) as { id: string }).id
      const accepted = Object.values(state).includes(true)
      answers.push({ at, accepted, preferences: state, policyVersion: 3, files: isInBoth ? days : [first] })
    }
    if (answers.length > 0) book.person({ record: { id, ...(subject && { subject_id: subject }), evidence }, answers })
  }

  const [today = ''] = days
  const yes = { purposes: purposes({ cookies: true }) }
  book.refuse(today, [event({ organization_user_id: 'maria@example.com' }, '2024-05-01T10:00:00Z', yes)], 'field')
  book.refuse(today, [event({ id: 'a' }, '2024-05-01 10:00:00', yes)], 'time')
  book.refuse(today, [event({ id: 'b' }, '2999-05-01T10:00:00Z', yes)], 'time')
  const no = { purposes: purposes({ cookies: false }) }
  const same = { id: 'c' }
  book.refuse(
    today,
    [yes, no].map(each => event(same, '2024-05-01T10:00:00Z', each)),
    'contradiction',
  )
  while (book.rows() < rows) person()
  const file = (day: string) => gzip(`${linesOf(book.textOf(day)).join('\n')}\n`)
  return book.close(Object.fromEntries(days.map(day => [day, file(day)])), { policyVersion: 3 })
}

interface Event {
  readonly user: { readonly id?: string }
}

/** Puts the events of every other user into one line. */
function linesOf(events: readonly string[]): string[] {
  const users = new Map<string, Event[]>()
  const others: string[] = []
  for (const text of events) {
    const { id } = (JSON.parse(text) as Event).user
    if (id !== undefined && /[02468ace]$/.test(id)) users.set(id, [...(users.get(id) ?? []), JSON.parse(text)])
    else others.push(text)
  }
  const lines = [...users.values()].map(events => {
    const user = { ...events[0]?.user, created_at: '2020-01-01T00:00:00Z', consents: { purposes: [] } }
    return JSON.stringify({ user, events: events.map(({ user: _, ...event }) => event) })
  })
  return [...others, ...lines]
}
