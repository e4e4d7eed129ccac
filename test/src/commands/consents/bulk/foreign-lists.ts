import { expect } from 'vitest'
import type { MapFile, Record } from './foreign-files.ts'

const utf16be = (text: string) => Buffer.from(text, 'utf16le').swap16()

/** Makes a column a field, as one would by hand. */
function use(map: MapFile, column: string, field: string): void {
  for (const [other, named] of Object.entries(map.fields)) if (named === column) delete map.fields[other]
  map.fields[field] = column
}

interface ForeignList {
  readonly name: string
  readonly content: string | Uint8Array
  /** With the identifiers. */
  readonly column: string
  readonly extension?: string
  readonly flags?: readonly string[]
  readonly edit?: (map: MapFile) => void
  /** One a row, in their order. */
  readonly records: readonly Record[]
}

/** As other programs write them. */
export const foreignLists: readonly ForeignList[] = [
  {
    name: 'Excel in German: semicolons, a byte order mark, CRLF, words',
    column: 'E-Mail-Adresse',
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
    column: 'Courriel',
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
    column: 'email',
    content: utf16be('\ufeffemail,opt in\n😀@example.com,1\nb@example.com,0\n'),
    records: [
      { subject_id: '😀@example.com', accepted: true },
      { subject_id: 'b@example.com', accepted: false },
    ],
  },
  {
    name: 'TSV with quoted line breaks and tabs',
    column: 'User ID',
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
    column: 'subject_id',
    content:
      '"SUBJECT_ID"," Accepted ","Pref.Channel","Policy Version"\n"d ""D"" 1","TRUE","e-mail, post","3"\n"d2","FALSE","","4"\n',
    records: [
      { subject_id: 'd "D" 1', accepted: true, preferences: { Channel: 'e-mail, post' }, policy_version: 3 },
      { subject_id: 'd2', accepted: false, policy_version: 4 },
    ],
  },
  {
    name: 'a line that names the separator, and words of one’s own',
    column: 'E-Mail',
    content: 'sep=;\r\nE-Mail;Status;IP-Adresse\r\ne1@example.com;Bestätigt;192.0.2.1\r\ne2@example.com;Offen;\r\n',
    edit: map => {
      expect(map.values).toEqual({ Bestätigt: null, Offen: null })
      map.values = { bestätigt: 'yes', Offen: 'no' }
    },
    records: [
      { subject_id: 'e1@example.com', accepted: true, ip_address: '192.0.2.1' },
      { subject_id: 'e2@example.com', accepted: false },
    ],
  },
  {
    name: 'PostgreSQL’s COPY: t and f, and a column that JSON fills',
    column: 'email',
    content: 'id,email,granted,settings\n7,f1@example.com,t,"{""a"":[1]}"\n8,f2@example.com,f,\n',
    edit: map => use(map, 'settings', 'preferences'),
    records: [
      { subject_id: 'f1@example.com', accepted: true, preferences: { a: [1] } },
      { subject_id: 'f2@example.com', accepted: false },
    ],
  },
  {
    name: 'a CRM with commas in the header, which is separated by semicolons',
    column: 'Kontakt',
    content: 'Name, Vorname;Kontakt;Zustimmung erteilt?;Kanal\nM, Z;g1@example.com;так;SMS\nN, Y;g2@example.com;Ні;\n',
    edit: map => use(map, 'Kanal', 'pref.channel'),
    records: [
      { subject_id: 'g1@example.com', accepted: true, preferences: { channel: 'SMS' } },
      { subject_id: 'g2@example.com', accepted: false },
    ],
  },
  {
    name: 'a survey in Spanish with counts, which stay numbers, and without an end of the last line',
    column: 'Correo electrónico',
    content: 'Correo electrónico;Acepta la política;Visitas;Idioma\nh1@example.com;Sí;1;no\nh2@example.com;No;0;es',
    edit: map => {
      use(map, 'Visitas', 'pref.visits')
      use(map, 'Idioma', 'pref.language')
      map.values = {}
    },
    records: [
      { subject_id: 'h1@example.com', accepted: true, preferences: { visits: 1, language: 'no' } },
      { subject_id: 'h2@example.com', accepted: false, preferences: { visits: 0, language: 'es' } },
    ],
  },
  {
    name: 'a consent tool: label, agent and several preferences by their words',
    column: 'Customer ID',
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
