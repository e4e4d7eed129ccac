import { type Answer, type Fixture, hostile, localTime, openBook, seeded } from './truth.ts'

const zone = 'America/Sao_Paulo'
const file = 'c15t.ndjson'
const optional = ['functionality', 'experience', 'measurement', 'marketing'] as const

/** Whole answers that have only what was given. */
export function c15t(seed: number, rows: number): Fixture {
  const random = seeded(seed)
  const book = openBook(random)
  const row = (subjectId: string | null, givenAt: string, more: object) =>
    JSON.stringify({
      id: `cns_${random.hex(20)}`,
      subjectId,
      externalId: null,
      policyType: 'cookie_banner',
      policyVersion: '1.0.0',
      consentAction: 'accept_all',
      ipAddress: null,
      userAgent: random.pick(hostile.slice(0, 4)),
      givenAt,
      purposes: ['necessary'],
      ...more,
    })

  const person = (): void => {
    const id = `sub_${random.hex(20)}`
    const externalId = random.chance(0.4) ? `${random.pick(hostile)}@${random.hex(6)}` : null
    const answers: Answer[] = []
    let first: Record<string, string> = {}
    for (const at of random.times(1 + random.int(3))) {
      const time = localTime(at, zone).replace(' ', 'T')
      if (random.chance(0.2))
        book.add(
          file,
          row(id, time, { policyType: 'terms_and_conditions', purposes: [], consentAction: null }),
          'left_out',
        )
      const consentAction = random.pick(['accept_all', 'reject_all', 'opt_out', 'custom', null])
      const isAll = consentAction === 'accept_all'
      const chosen = isAll
        ? optional
        : consentAction?.endsWith('t_all') || consentAction === 'opt_out'
          ? []
          : random.shuffle(optional).slice(random.int(5))
      const policyVersion = random.pick(['1.0.0', '2.0.0'])
      const text = row(id, time, { externalId, consentAction, purposes: ['necessary', ...chosen], policyVersion })
      book.answer(file, [text], answers.length === 0)
      const { id: evidence, userAgent } = JSON.parse(text) as { id: string; userAgent: string }
      if (answers.length === 0) first = { evidence, user_agent: userAgent }
      answers.push({
        at,
        accepted: chosen.length > 0,
        preferences: Object.fromEntries(['necessary', ...chosen].map(name => [name, true])),
        policyVersion: policyVersion === '1.0.0' ? 1 : 2,
        files: [file],
      })
    }
    book.person({ record: { id: `${id}/cookie_banner`, subject_id: externalId ?? id, ...first }, answers })
  }

  book.refuse(file, [row(null, '2024-05-01T10:00:00', {})], 'field')
  book.refuse(file, [row('a', '2018-02-17T23:30:00', {})], 'time') // happened twice, while there was summer time
  book.refuse(file, [row('b', '2018-11-04T00:30:00', {})], 'time') // did not happen
  book.refuse(file, [row('c', '1989-12-31T10:00:00', {})], 'time')
  while (book.rows() < rows) person()
  return book.close({ [file]: Buffer.from(`${book.textOf(file).join('\n')}\n`) }, { timezone: zone })
}
