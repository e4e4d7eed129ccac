import { type Answer, csvFile, csvRow, type Fixture, hostile, localTime, openBook, seeded } from './truth.ts'
import { zip } from './zip.ts'

const zone = 'Europe/Rome'
const minute = 60_000

/** A contact: when it came, and when it left, if it did. */
interface Contact {
  readonly id: string
  readonly email: string
  readonly joined: number
  readonly left: number | null
}

interface List {
  readonly header: (file: string) => readonly string[]
  readonly files: readonly string[]
  readonly fileOf: (contact: Contact) => string
  /** '' for a contact that gave no yes. */
  readonly cells: (contact: Contact, isYes: boolean, write: (at: number | null) => string, note: string) => string[]
  readonly write: (at: number) => string
  readonly pack: (files: Readonly<Record<string, Buffer>>) => Readonly<Record<string, Buffer>>
  readonly separator?: string
  readonly isOfUtf8?: false
  readonly originOf?: (contact: Contact) => string
}

/** Contacts of a mailing list: a row each, with the time of a yes and of a no. */
function mailingList(list: List) {
  return (seed: number, rows: number): Fixture => {
    const random = seeded(seed)
    const book = openBook(random)
    const write = (at: number | null) => (at === null ? '' : list.write(at))
    // A list may be in an encoding that has neither marks of direction nor smileys.
    const notes = list.isOfUtf8 === false ? ['Zoë', '€ 5', 'a; "b"'] : hostile
    const toText = (contact: Contact, isYes = true, writer = write) => {
      const cells = list.cells(contact, isYes, writer, random.pick(notes))
      const { separator = ',' } = list
      const quote = (cell: string) => (/[";\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell)
      return separator === ',' ? csvRow(cells) : cells.map(quote).join(separator)
    }
    const record = (contact: Contact) => ({ id: list.originOf?.(contact) ?? contact.id, subject_id: contact.email })
    const packed = (file: string) => Object.keys(list.pack({ [file]: Buffer.alloc(0) }))
    const person = (): void => {
      const [joined, left] = random.times(2).map(at => at - (at % minute)) as [number, number]
      const contact: Contact = {
        id: random.hex(12),
        email: `${random.hex(8)}@example.com`,
        joined,
        left: random.chance(0.4) ? left : null,
      }
      const isYes = random.chance(0.8)
      const file = list.fileOf(contact)
      const answers: Answer[] = []
      const base = { preferences: {}, policyVersion: 3, files: packed(file) }
      if (isYes) answers.push({ ...base, at: contact.joined, accepted: true })
      if (contact.left !== null) answers.push({ ...base, at: contact.left, accepted: false })
      const text = toText(contact, isYes)
      if (answers.length === 0) return void book.add(file, text, 'left_out')
      book.both(file, text, answers.length)
      book.person({ record: record(contact), answers })
    }
    const [file = ''] = list.files
    const at = Date.UTC(2024, 4, 1, 10)
    const contact = { id: 'a', email: 'a@example.com', joined: at, left: null }
    book.refuse(file, [toText({ ...contact, id: '', email: '' })], 'field')
    book.refuse(file, [toText({ ...contact, id: 'b', email: 'b@example.com' }, true, () => 'soon')], 'time')
    const both = [at, at].map((joined, index) => toText({ ...contact, email: `${index}@example.com`, joined }))
    if (!list.originOf) book.refuse(file, both, 'contradiction')
    while (book.rows() < rows) person()
    const written = list.files.map(name => [name, toBytes(list, name, book.textOf(name))] as const)
    return book.close(list.pack(Object.fromEntries(written)), { policyVersion: 3, timezone: zone })
  }
}

function toBytes({ header, separator = ',', isOfUtf8 }: List, name: string, rows: readonly string[]): Buffer {
  if (isOfUtf8 !== false && separator === ',') return csvFile(header(name), rows, false)
  const text = `${[header(name).join(separator), ...rows].join('\r\n')}\r\n`
  return isOfUtf8 === false ? windows1252(text) : Buffer.from(text)
}

/** As Excel of Western Europe saves it. */
function windows1252(text: string): Buffer {
  return Buffer.from(text.replaceAll('€', '\x80').replaceAll('–', '\x96'), 'latin1')
}

const plain = (files: Readonly<Record<string, Buffer>>) => files
const exported = (kind: string) => `${kind}_email_audience_export_8f2.csv`

export const mailchimp = mailingList({
  files: [exported('subscribed'), exported('unsubscribed'), exported('cleaned')],
  header: file => [
    ...['Email Address', 'First Name', 'MEMBER_RATING', 'OPTIN_TIME', 'OPTIN_IP', 'CONFIRM_TIME', 'CONFIRM_IP'],
    ...(file.startsWith('un') ? ['UNSUB_TIME', 'UNSUB_CAMPAIGN_TITLE'] : ['LAST_CHANGED', 'CC']),
    ...['LEID', 'EUID', 'NOTES'],
  ],
  fileOf: ({ left, id }) => exported(left !== null ? 'unsubscribed' : id < '2' ? 'cleaned' : 'subscribed'),
  cells: ({ id, email, joined, left }, isYes, write, note) => [
    ...[email, note, '2', isYes ? write(joined) : '', '', write(joined), ''],
    ...(left === null ? [write(joined), 'IT'] : [write(left), 'May']),
    ...[id, `e${id}`, note],
  ],
  write: at => localTime(at, zone),
  pack: files => ({
    'audience.zip': zip({ ...files, [exported('nonsubscribed')]: Buffer.from('Email Address\nnobody@example.com\n') }),
  }),
})

const basis = "Legal basis for processing contact's data"

export const hubspot = mailingList({
  files: ['contacts.csv'],
  header: () => [
    'Record ID',
    'First Name',
    'Email',
    basis,
    'Unsubscribed from all email',
    'Create Date',
    'Last Modified Date',
  ],
  fileOf: () => 'contacts.csv',
  cells: ({ id, email, joined, left }, isYes, write, note) => [
    ...[id, note, email, isYes ? 'Freely given consent from contact' : 'Legitimate interest – prospect/lead'],
    ...[left === null ? 'FALSCH' : 'WAHR', write(joined), write(left ?? joined)],
  ],
  write: at => localTime(at, zone).replace(/^(\d+)-(\d+)-(\d+) (\d+:\d+).*/s, '$3.$2.$1 $4'),
  pack: plain,
  separator: ';',
  isOfUtf8: false,
})

export const brevo = mailingList({
  files: ['contacts.csv'],
  header: () => ['EMAIL', 'FIRSTNAME', 'DOUBLE_OPT-IN', 'EMAIL_MARKETING', 'ADDED_TIME', 'MODIFIED_TIME'],
  fileOf: () => 'contacts.csv',
  cells: ({ email, joined, left }, isYes, write, note) => [
    ...[email, note.replaceAll('\n', ' '), isYes ? 'Yes' : 'No', left === null ? 'Subscribed' : 'Blocklisted'],
    ...[write(joined), write(left ?? joined)],
  ],
  write: at => localTime(at, zone),
  pack: plain,
  separator: ';',
  originOf: ({ email }) => email,
})

/** Two channels, each with a word and a time. */
export function klaviyo(seed: number, rows: number): Fixture {
  const random = seeded(seed)
  const book = openBook(random)
  const words = { true: 'SUBSCRIBED', false: 'UNSUBSCRIBED', null: 'NEVER_SUBSCRIBED' } as const
  type Said = boolean | null
  const row = (id: string, email: string, said: readonly Said[], times: readonly string[]) => {
    const cells = said.flatMap((each, index) => [words[`${each}`], each === null ? '' : (times[index] ?? '')])
    return csvRow([id, email, random.pick(hostile), '+391234567', ...cells])
  }
  const file = 'profiles.csv'
  const person = (): void => {
    const id = random.hex(26)
    const email = `${random.hex(8)}@example.com`
    const times = random.times(2)
    const said = [0, 1].map(() => random.pick([true, false, null]))
    const text = row(
      id,
      email,
      said,
      times.map(at => new Date(at).toISOString()),
    )
    const answers: Answer[] = []
    let preferences: Record<string, boolean> = {}
    for (const [index, each] of said.entries()) {
      if (each === null) continue
      preferences = { ...preferences, [index === 0 ? 'email' : 'sms']: each }
      const accepted = Object.values(preferences).includes(true)
      answers.push({ at: times[index] as number, accepted, preferences, policyVersion: 3, files: [file] })
    }
    if (answers.length === 0) return void book.add(file, text, 'left_out')
    book.both(file, text, answers.length)
    book.person({ record: { id, subject_id: email }, answers })
  }
  book.refuse(file, [row('a', 'a@example.com', [true, null], ['soon'])], 'time')
  book.refuse(file, [row('b', 'b@example.com', [false, null], [''])], 'time') // it may be a withdrawal
  const at = '2024-05-01T10:00:00Z'
  const both = [true, false].map(each => row('c', 'c@example.com', [each, null], [at]))
  book.refuse(file, both, 'contradiction')
  while (book.rows() < rows) person()
  const consents = ['Email', 'SMS'].flatMap(each => [
    `${each} Marketing Consent`,
    `${each} Marketing Consent Timestamp`,
  ])
  const header = ['Klaviyo ID', 'Email', 'First Name', 'Phone Number', ...consents]
  return book.close({ [file]: csvFile(header, book.textOf(file), true) }, { policyVersion: 3, timezone: zone })
}
