import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { HttpResponse, http } from 'msw'
import { describe, expect, it } from 'vitest'
import { useFolder } from '../../../../support/cli.ts'
import { consent, consentsPath, site, useCli, uuid } from '../../../support.ts'

const cli = useCli()
const folder = useFolder()
let files = 0

type Record = { [name: string]: unknown }
interface MapFile {
  fields: { [field: string]: string | null }
  not_used: string[]
  true: string[]
  false: string[]
  undecided: string[]
}

const noUsage = http.get('*/api/v1/usage', () =>
  HttpResponse.json({ error: 'not_found', message: 'no' }, { status: 404 }),
)

/** An instance that keeps what it is sent and lists it, oldest first. */
function keeping() {
  const records: Record[] = []
  cli.instance.use(
    http.post(consentsPath, async ({ request }) => {
      const body = (await request.json()) as Record
      if (body['subject_id'] === 'rejected')
        return HttpResponse.json({ error: 'conflict', message: 'no' }, { status: 409 })
      records.push(body)
      return HttpResponse.json(consent({ id: uuid(records.length) }), { status: 201 })
    }),
    noUsage,
    http.get(consentsPath, () => {
      const data = records.map((record, index) => ({
        ...consent({ id: uuid(index), consent_id: null, preferences: {}, user_agent: null, policy_version: 1 }),
        accepted: false,
        ...record,
      }))
      return HttpResponse.json({ data, next_cursor: null })
    }),
  )
  return records
}

function write(content: string | Uint8Array, extension = 'csv'): string {
  const path = join(folder.path, `${++files}.${extension}`)
  writeFileSync(path, content)
  return path
}

const importFile = (file: string, ...flags: string[]) =>
  cli.run(['create', '--file', file, '--site', site, '--concurrency', '1', ...flags])

const fieldsOf = (records: readonly Record[]) => records.map(({ site_id, ...fields }) => fields)

async function initMap(file: string, ...flags: string[]) {
  const path = join(folder.path, `${++files}.json`)
  const ran = await cli.run(['create', '--file', file, '--map-init', path, ...flags])
  expect(ran, ran.stderr).toMatchObject({ code: 0, stdout: '' })
  return { ...ran, path, map: JSON.parse(readFileSync(path, 'utf8')) as MapFile }
}

const utf16be = (text: string) => Buffer.from(text, 'utf16le').swap16()

/** Moves a column from `not_used` to a field, as one would by hand. */
function use(map: MapFile, column: string, field: string): void {
  map.not_used = map.not_used.filter(name => name !== column)
  map.fields[field] = column
}

interface Case {
  readonly name: string
  readonly content: string | Uint8Array
  readonly extension?: string
  readonly flags?: readonly string[]
  readonly edit?: (map: MapFile) => void
  readonly records: readonly Record[]
}

const cases: readonly Case[] = [
  {
    name: 'Excel in German: semicolons, a byte order mark, CRLF, words',
    content:
      '\ufeffVorname;E-Mail-Adresse;Einwilligung;Newsletter\r\nZoë;zoe@example.com;Ja;nein\r\nJörg;joerg@example.com;NEIN;ja\r\n;;;\r\n',
    edit: map => use(map, 'Newsletter', 'pref.newsletter'),
    records: [
      { subject_id: 'zoe@example.com', accepted: true, preferences: { newsletter: false } },
      { subject_id: 'joerg@example.com', accepted: false, preferences: { newsletter: true } },
    ],
  },
  {
    name: 'Excel “Unicode text”: UTF-16 LE with tabs',
    content: Buffer.from(
      '\ufeffCourriel\tConsentement\tVille\r\nélise@example.com\tVRAI\tNîmes\r\na@example.com\tFAUX\t\r\n',
      'utf16le',
    ),
    extension: 'txt',
    flags: ['--format', 'csv'],
    records: [
      { subject_id: 'élise@example.com', accepted: true },
      { subject_id: 'a@example.com', accepted: false },
    ],
  },
  {
    name: 'UTF-16 BE with commas',
    content: utf16be('\ufeffemail,opt in\n😀@example.com,1\nb@example.com,0\n'),
    records: [
      { subject_id: '😀@example.com', accepted: true },
      { subject_id: 'b@example.com', accepted: false },
    ],
  },
  {
    name: 'TSV with quoted line breaks and tabs',
    content: 'User ID\tStatus\tComment\n"c\t1"\tAccepted\t"two\nlines"\nc2\tDeclined\t\n',
    extension: 'tsv',
    edit: map => use(map, 'Comment', 'pref.comment'),
    records: [
      { subject_id: 'c\t1', accepted: true, preferences: { comment: 'two\nlines' } },
      { subject_id: 'c2', accepted: false },
    ],
  },
  {
    name: 'LibreOffice: every cell quoted, doubled quotation marks, a column in other case',
    content:
      '"SUBJECT_ID"," Accepted ","Pref.Channel","Policy Version"\n"d ""D"" 1","TRUE","e-mail, post","3"\n"d2","FALSE","","4"\n',
    records: [
      { subject_id: 'd "D" 1', accepted: true, preferences: { Channel: 'e-mail, post' }, policy_version: 3 },
      { subject_id: 'd2', accepted: false, policy_version: 4 },
    ],
  },
  {
    name: 'a line that names the separator, and words of one’s own',
    content: 'sep=;\r\nE-Mail;Status;IP-Adresse\r\ne1@example.com;Bestätigt;192.0.2.1\r\ne2@example.com;Offen;\r\n',
    edit: map => {
      expect(map.undecided).toEqual(['Bestätigt', 'Offen'])
      map.true = ['bestätigt']
      map.false = ['Offen']
      map.undecided = []
    },
    records: [
      { subject_id: 'e1@example.com', accepted: true, ip_address: '192.0.2.1' },
      { subject_id: 'e2@example.com', accepted: false },
    ],
  },
  {
    name: 'PostgreSQL’s COPY: t and f, and a column that JSON fills',
    content: 'id,email,granted,settings\n7,f1@example.com,t,"{""a"":[1]}"\n8,f2@example.com,f,\n',
    edit: map => use(map, 'settings', 'preferences'),
    records: [
      { subject_id: 'f1@example.com', accepted: true, preferences: { a: [1] } },
      { subject_id: 'f2@example.com', accepted: false },
    ],
  },
  {
    name: 'a CRM with commas in the header, which is separated by semicolons',
    content: 'Name, Vorname;Kontakt;Zustimmung erteilt?;Kanal\nM, Z;g1@example.com;так;SMS\nN, Y;g2@example.com;Ні;\n',
    edit: map => use(map, 'Kanal', 'pref.channel'),
    records: [
      { subject_id: 'g1@example.com', accepted: true, preferences: { channel: 'SMS' } },
      { subject_id: 'g2@example.com', accepted: false },
    ],
  },
  {
    name: 'a survey in Spanish with counts, which stay numbers, and without an end of the last line',
    content: 'Correo electrónico;Acepta la política;Visitas;Idioma\nh1@example.com;Sí;1;no\nh2@example.com;No;0;es',
    edit: map => {
      use(map, 'Visitas', 'pref.visits')
      use(map, 'Idioma', 'pref.language')
      map.true = []
      map.false = []
    },
    records: [
      { subject_id: 'h1@example.com', accepted: true, preferences: { visits: 1, language: 'no' } },
      { subject_id: 'h2@example.com', accepted: false, preferences: { visits: 0, language: 'es' } },
    ],
  },
  {
    name: 'a consent tool: label, agent and several preferences by their words',
    content:
      'Consent ID,Customer ID,Consent Status,Marketing,Statistics,User Agent,Timestamp\nx-1,i1,Accepted,granted,denied,Mozilla/5.0,2026-01-31\nx-2,i2,Rejected,denied,denied,,2026-02-01\n',
    edit: map => {
      use(map, 'Marketing', 'pref.marketing')
      use(map, 'Statistics', 'pref.statistics')
    },
    records: [
      {
        consent_id: 'x-1',
        subject_id: 'i1',
        accepted: true,
        preferences: { marketing: true, statistics: false },
        user_agent: 'Mozilla/5.0',
      },
      { consent_id: 'x-2', subject_id: 'i2', accepted: false, preferences: { marketing: false, statistics: false } },
    ],
  },
]

describe('create --file with a map of --map-init that is edited', () => {
  it.each(cases)(
    'imports $name, and what list prints makes the same records',
    async ({ content, extension, flags = [], edit, records }) => {
      const sent = keeping()
      const file = write(content, extension)
      const { path, map } = await initMap(file, ...flags)
      edit?.(map)
      writeFileSync(path, JSON.stringify(map))
      const imported = await importFile(file, '--map', path, ...flags)
      expect(imported, imported.stderr).toMatchObject({ code: 0 })
      expect(imported.stderr).not.toContain('not used')
      expect(fieldsOf(sent)).toEqual(records)

      const columns = 'consent_id,subject_id,accepted,preferences,policy_version,user_agent'
      const listed = write((await cli.run(['list', '-o', 'csv', '--columns', columns])).stdout)
      const before = sent.length
      expect(await importFile(listed, '--csv-unguard')).toMatchObject({ code: 0 })
      const again = fieldsOf(sent).slice(before)
      const shown = records.map(({ ip_address, ...fields }) => ({ policy_version: 1, preferences: {}, ...fields }))
      expect(again).toEqual(shown)
    },
  )
})

describe('--map-init', () => {
  it('writes every field, the other columns and the words of the first hundred rows, readable by the owner alone', async () => {
    const rows = Array.from({ length: 150 }, (_, index) => `${index}@example.com;${index < 100 ? 'Open' : 'Late'};x`)
    const file = write(`E-Mail;Status;Note\n${rows.join('\n')}\n`)
    const { path, map, stderr } = await initMap(file)
    expect(map).toMatchObject({
      fields: { subject_id: 'E-Mail', accepted: 'Status', consent_id: null, 'pref.marketing': null },
      not_used: ['Note'],
      undecided: ['Open'],
    })
    expect(stderr).toContain('neither a yes nor a no: Open')
    expect(stderr).toContain(`consentctl create --file ${file} --map ${path} --dry-run`)
    expect(statSync(path).mode & 0o777).toBe(0o600)
    expect(readFileSync(path, 'utf8')).not.toContain('@example.com')
    expect(cli.sent()).toEqual([])
  })

  it('never overwrites a file', async () => {
    const map = write('mine', 'json')
    const ran = await cli.run(['create', '--file', write('email\n'), '--map-init', map])
    expect([ran.code, readFileSync(map, 'utf8')]).toEqual([2, 'mine'])
  })

  it.each([
    ['is a usage error for NDJSON', ['--file', 'x.ndjson'], 'for CSV and TSV'],
    ['is a usage error without a file', [], 'needs --file'],
    ['is a usage error for a file without a header', ['--file', '-', '--format', 'csv'], 'has no header'],
  ])('%s', async (_, flags, problem) => {
    const { code, stderr } = await cli.run(['create', ...flags, '--map-init', join(folder.path, 'never.json')], {
      stdin: '',
    })
    expect(code).toBe(2)
    expect(stderr).toContain(problem)
  })
})

describe('create --file --map', () => {
  const foreign = 'Name;E-Mail;Status;Since, when\nA;a@example.com;Accepted;1\nB;b@example.com;Rejected;2\n'

  it('takes pairs of fields and columns, and says once which columns are not used', async () => {
    const sent = keeping()
    const pairs = 'subject_id=e-mail,pref.since=Since, when, accepted=Status'
    const { code, stderr } = await importFile(write(foreign), '--map', pairs)
    expect([code, stderr.match(/not used.*/g)]).toEqual([0, ['not used, because the map does not name them: "Name"']])
    expect(fieldsOf(sent)).toEqual([
      { subject_id: 'a@example.com', accepted: true, preferences: { since: 1 } },
      { subject_id: 'b@example.com', accepted: false, preferences: { since: 2 } },
    ])
  })

  it('wins over the names of columns, which are fields where the map is silent', async () => {
    const sent = keeping()
    const file = write('subject_id;email;accepted;pref.a;pref.b\n1;a@example.com;yes;x;y\n')
    const map = write('{"fields":{"subject_id":"email"},"not_used":["PREF.B"]}', 'json')
    expect(await importFile(file, '--map', map)).toMatchObject({ code: 0 })
    expect(fieldsOf(sent)).toEqual([{ subject_id: 'a@example.com', accepted: true, preferences: { a: 'x' } }])
  })

  it('says that every line records a refusal if no column is the answer', async () => {
    keeping()
    const { stderr } = await importFile(write(foreign), '--map', 'subject_id=E-Mail')
    expect(stderr).toContain('every line records a refusal')
  })

  it.each([
    ['a column that is not there', 'subject_id=Mail', 'no column "Mail", which the map names'],
    ['a field that is none', '{"fields":{"subject":"E-Mail"}}', '"subject" is not a field'],
    ['no column', 'subject_id=', 'names no column'],
    ['a field twice', 'accepted=Status,accepted=Name', 'accepted is repeated'],
    ['an unknown key', '{"fields":{},"ignore":["Name"]}', 'ignore'],
    ['a map that is not JSON', 'subject_id', 'is not'],
  ])('with %s stops before anything is sent', async (_, map, problem) => {
    const flag = map.includes('=') ? map : write(map, 'json')
    const { code, stdout, stderr } = await importFile(write(foreign), '--map', flag)
    expect([2, 5]).toContain(code)
    expect(stdout).toBe('')
    expect(stderr).toContain(problem)
    expect(cli.sent()).toEqual([])
  })

  it('is for CSV and TSV', async () => {
    const { code, stderr } = await importFile(write('{}', 'ndjson'), '--map', 'accepted=a')
    expect(code).toBe(2)
    expect(stderr).toContain('--format csv')
  })

  it('is kept by the job: a resumed import uses the map of its start, and no other', async () => {
    const file = write('who;answer\na;x\nb;o\n')
    const path = write('{"fields":{"subject_id":"who","accepted":"answer"},"true":["x"],"false":["o"]}', 'json')
    cli.instance.use(
      noUsage,
      http.post(consentsPath, () => HttpResponse.json({ error: 'unauthorized', message: 'no' }, { status: 401 })),
    )
    const first = await importFile(file, '--map', path)
    expect(first, first.stderr).toMatchObject({ code: 4 })
    writeFileSync(path, '{"fields":{"subject_id":"who","accepted":"answer"},"true":["o"],"false":["x"]}')
    const changed = await cli.run(['create', '--resume', 'last', '--map', path])
    expect(changed).toMatchObject({ code: 2 })
    expect(changed.stderr).toContain('begun with another map')
    const sent = keeping()
    expect(await cli.run(['create', '--resume', 'last', '--concurrency', '1'])).toMatchObject({ code: 0 })
    expect(fieldsOf(sent)).toEqual([
      { subject_id: 'a', accepted: true },
      { subject_id: 'b', accepted: false },
    ])
  })

  it('fits the lines of --failed-out, in UTF-8', async () => {
    const sent = keeping()
    const file = write(Buffer.from('\ufeffWer;Antwort\r\na;ja\r\nrejected;nein\r\n"ü\n2";nein\r\n', 'utf16le'))
    const failed = join(folder.path, 'failed.csv')
    const map = ['--map', 'subject_id=Wer,accepted=Antwort']
    expect(await importFile(file, ...map, '--failed-out', failed)).toMatchObject({ code: 8 })
    const lines = readFileSync(failed, 'utf8')
    expect(lines).toBe('\ufeffWer;Antwort\r\nrejected;nein\r\n')
    writeFileSync(failed, lines.replace('rejected', 'corrected'))
    expect(await importFile(failed, ...map)).toMatchObject({ code: 0 })
    expect(sent.map(record => record['subject_id'])).toEqual(['a', 'ü\n2', 'corrected'])
  })
})

describe('words for yes and no', () => {
  it('are added with --true and --false, which win over the common ones and hold for preferences too', async () => {
    const sent = keeping()
    const file = write('subject_id,accepted,pref.a,pref.b\na,Yep,YEP,1\nb,nope,x,no\nc,on,,\n')
    const { code, stderr } = await importFile(file, '--true', ' yep ,x', '--false', 'Nope,on')
    expect(code, stderr).toBe(0)
    expect(fieldsOf(sent)).toEqual([
      { subject_id: 'a', accepted: true, preferences: { a: true, b: 1 } },
      { subject_id: 'b', accepted: false, preferences: { a: true, b: 'no' } },
      { subject_id: 'c', accepted: false },
    ])
    expect(stderr.match(/.*kept as text.*/g)).toEqual([expect.stringContaining('"no" in pref.b')])
  })

  it.each([
    [true, ['Accepted', 'y', 'T', '1', 'Opt In', 'JA', 'oui', 'SÍ', 'Tak', 'wahr', 'ΝΑΙ', 'да', ' yes ']],
    [false, ['Rejected', 'n', 'f', '0', 'opt_out', 'NEIN', 'Non', 'não', 'Nie', 'FALSCH', 'όχι', 'нет']],
  ])('the common ones for %s are known in the languages of Europe', async (accepted, words) => {
    const sent = keeping()
    expect(await importFile(write(`accepted\n${words.join('\n')}\n`))).toMatchObject({ code: 0 })
    expect(fieldsOf(sent)).toEqual(words.map(() => ({ accepted })))
  })

  it.each([
    [['--true', 'a,A ', '--false', 'b,a'], '"a" is named as a yes and as a no'],
    [['--true', 'a,'], 'empty word'],
    [['--true', ''], 'must not be empty'],
  ])('%j is a usage error', async (flags, problem) => {
    const { code, stderr } = await importFile(write('accepted\nyes\n'), ...flags)
    expect(code).toBe(2)
    expect(stderr).toContain(problem)
  })

  it('5,000 words that are neither are three errors and a count, all of them are in --failed-out, and nothing is sent', async () => {
    const rows = Array.from({ length: 5000 }, (_, index) => `${index};maybe ${index % 7}`)
    const failed = join(folder.path, 'unread.csv')
    const file = write(`who;accepted\ngood;yes\n${rows.join('\n')}\n`)
    const { code, stdout, stderr } = await importFile(file, '--map', 'subject_id=who', '--failed-out', failed)
    expect([code, stdout]).toEqual([5, ''])
    expect(stderr.match(/neither a yes nor a no/g)).toHaveLength(3)
    expect(stderr).toContain('and 4997 more like line 3\n')
    expect(stderr).toContain(`correct the file: ${failed} has the lines to correct`)
    expect(readFileSync(failed, 'utf8')).toBe(`who;accepted\n${rows.join('\n')}\n`)
    expect(stderr.split('\n').length).toBeLessThan(10)
    expect(cli.sent()).toEqual([])
  })
})
