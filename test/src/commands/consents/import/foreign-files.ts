import { readFileSync } from 'node:fs'
import type { FormatName } from '../../../../../src/commands/consents/import/prepare/formats.ts'

export const page = readFileSync(new URL('../../../../../src/commands/consents/import/map.md', import.meta.url), 'utf8')

const [, csvOfPage = '', mapOfPage = ''] = /```csv\n(.*?)```.*?```json\n(.*?)```/s.exec(page) ?? []

export interface ForeignFile {
  readonly name: string
  readonly format: FormatName
  readonly map?: object
  readonly separator?: string
  readonly encoding?: 'windows-1252'
  readonly timezone?: string
  /** The header, then a row each. The second row is of a person with an answer. */
  readonly cells: readonly (readonly string[])[]
  readonly key: string
  /** Column of the time of the second row, and of the words of its answer, if it has any. */
  readonly time: string
  readonly word?: string
  /** Persons and answers in it. */
  readonly records: number
  readonly answers: number
  readonly accepted: number
}

const table = (text: string, separator = ',') =>
  text
    .trim()
    .split('\n')
    .map(line => line.trim().split(separator))

const berlin = 'Europe/Berlin'

const hubspot = `Record ID;Email;Legal basis for processing contact's data;Unsubscribed from all email;Create Date;Last Modified Date
  101;zoe@example.com;Freely given consent from contact;false;2024-03-05 14:30;2024-03-05 14:31
  102;joerg@example.com;Freely given consent from contact;true;2024-03-06 09:00;2024-05-01 10:15
  103;cy@example.com;Legitimate interest – prospect/lead;false;2024-03-07 09:00;2024-03-07 09:00`

/** As those tools write them, by their documentation; `unchecked` in their maps says what that leaves open. */
export const foreignFiles: readonly ForeignFile[] = [
  {
    name: 'OneTrust: a row a purpose',
    format: 'onetrust',
    map: { names: { Newsletter: 'newsletter', Ads: 'ads' } },
    timezone: 'UTC',
    cells: table(`Identifier,Purpose Name,Status,Last Transaction Date
      ann@example.com,Newsletter,ACTIVE,2024-03-05T14:30:00Z
      bob@example.com,Newsletter,ACTIVE,2024-03-06T09:00:00Z
      ann@example.com,Ads,WITHDRAWN,2024-03-07T09:00:00Z
      cy@example.com,Ads,PENDING,2024-03-08T09:00:00Z`),
    ...{ key: 'Identifier', time: 'Last Transaction Date', word: 'Status', records: 2, answers: 3, accepted: 2 },
  },
  {
    name: 'Cookiebot: a key and three categories',
    format: 'cookiebot',
    timezone: 'UTC',
    cells: table(`Key,Date,IP,User agent,URL,Preferences,Statistics,Marketing
      k1,2024-03-05 14:30:00,192.0.2.0,Mozilla/5.0,https://shop.example/,true,true,true
      k2,2024-03-06 09:00:00,192.0.2.0,Mozilla/5.0,https://shop.example/,false,false,false
      k1,2024-04-05 14:30:00,192.0.2.0,Mozilla/5.0,https://shop.example/,false,true,false`),
    ...{ key: 'Key', time: 'Date', word: 'Statistics', records: 2, answers: 3, accepted: 1 },
  },
  {
    name: 'CookieYes: a status and categories',
    format: 'cookieyes',
    timezone: 'UTC',
    cells: table(`Consented domain,Consent date,Consent ID,Consent status,Necessary,Functional,Analytics,Advertisement
      shop.example,2024-03-05T14:30:00Z,id1,Accepted,yes,yes,yes,yes
      shop.example,2024-03-06T09:00:00Z,id2,Rejected,yes,no,no,no
      shop.example,2024-03-07T09:00:00Z,id3,Partially accepted,yes,no,yes,no`),
    ...{ key: 'Consent ID', time: 'Consent date', word: 'Consent status', records: 3, answers: 3, accepted: 2 },
  },
  {
    name: 'Complianz: seconds of the clock of the site',
    format: 'complianz',
    timezone: berlin,
    cells:
      table(`ID,region,consenttype,ip,time,no_warning,do_not_track,no_choice,functional,preferences,statistics,marketing
      11,eu,optin,192.0.2.***,1709649000,0,0,0,1,1,1,1
      12,eu,optin,192.0.2.***,1709715600,0,0,0,1,0,0,0
      13,eu,optin,192.0.2.***,1709715700,0,0,1,1,0,0,0`),
    ...{ key: 'ID', time: 'time', word: 'statistics', records: 2, answers: 2, accepted: 1 },
  },
  {
    name: 'Mailchimp: subscribed',
    format: 'mailchimp',
    timezone: 'UTC',
    cells: table(`Email Address,First Name,OPTIN_TIME,OPTIN_IP,CONFIRM_TIME,LAST_CHANGED,LEID,EUID
      ann@example.com,Ann,2024-03-05 14:30:00,192.0.2.1,2024-03-05 14:31:00,2024-03-05 14:31:00,1001,e1
      bob@example.com,Bob,2024-03-06 09:00:00,,2024-03-06 09:01:00,2024-03-06 09:01:00,1002,e2
      cy@example.com,Cy,,,2024-03-07 09:00:00,2024-03-07 09:00:00,1003,e3`),
    ...{ key: 'LEID', time: 'OPTIN_TIME', records: 2, answers: 2, accepted: 2 },
  },
  {
    name: 'Mailchimp: unsubscribed',
    format: 'mailchimp',
    timezone: 'UTC',
    cells: table(`Email Address,First Name,OPTIN_TIME,UNSUB_TIME,UNSUB_CAMPAIGN_TITLE,UNSUB_REASON,LEID,EUID
      dora@example.com,Dora,2024-03-05 14:30:00,2024-05-01 10:15:00,May,N/A,1004,e4
      emil@example.com,Emil,,2024-05-02 10:15:00,May,N/A,1005,e5`),
    ...{ key: 'LEID', time: 'UNSUB_TIME', records: 2, answers: 3, accepted: 0 },
  },
  {
    name: 'Mailchimp: cleaned',
    format: 'mailchimp',
    timezone: 'UTC',
    cells: table(`Email Address,First Name,OPTIN_TIME,CLEAN_TIME,CLEAN_CAMPAIGN_TITLE,LEID,EUID
      finn@example.com,Finn,2024-03-05 14:30:00,2024-06-01 10:15:00,June,1006,e6
      gus@example.com,Gus,2024-03-06 14:30:00,2024-06-01 10:15:00,June,1007,e7`),
    ...{ key: 'LEID', time: 'OPTIN_TIME', records: 2, answers: 2, accepted: 2 },
  },
  {
    name: 'HubSpot as it exports',
    format: 'hubspot',
    timezone: berlin,
    separator: ',',
    cells: table(hubspot, ';'),
    key: 'Record ID',
    time: 'Last Modified Date',
    word: 'Unsubscribed from all email',
    ...{ records: 2, answers: 3, accepted: 1 },
  },
  {
    name: 'HubSpot as Excel saves it in German',
    format: 'hubspot',
    timezone: berlin,
    separator: ';',
    encoding: 'windows-1252',
    cells: table(
      hubspot
        .replaceAll(/(\d{4})-(\d\d)-(\d\d)/g, '$3.$2.$1')
        .replaceAll('true', 'WAHR')
        .replaceAll('false', 'FALSCH')
        .replaceAll('joerg', 'jörg'),
      ';',
    ),
    key: 'Record ID',
    time: 'Last Modified Date',
    word: 'Unsubscribed from all email',
    ...{ records: 2, answers: 3, accepted: 1 },
  },
  {
    name: 'Klaviyo: two channels',
    format: 'klaviyo',
    timezone: 'UTC',
    cells:
      table(`Klaviyo ID,Email,Phone Number,Email Marketing Consent,Email Marketing Consent Timestamp,SMS Marketing Consent,SMS Marketing Consent Timestamp
      01H1,ann@example.com,+491,SUBSCRIBED,2024-03-05T14:30:00+00:00,SUBSCRIBED,2024-03-06T14:30:00+00:00
      01H2,bob@example.com,+492,UNSUBSCRIBED,2024-03-07T09:00:00+00:00,NEVER_SUBSCRIBED,
      01H3,cy@example.com,+493,NEVER_SUBSCRIBED,,NEVER_SUBSCRIBED,`),
    key: 'Klaviyo ID',
    time: 'Email Marketing Consent Timestamp',
    word: 'Email Marketing Consent',
    ...{ records: 2, answers: 3, accepted: 1 },
  },
  {
    name: 'Brevo: double opt-in, and blocklisted',
    format: 'brevo',
    timezone: 'UTC',
    separator: ';',
    cells: table(
      `EMAIL;FIRSTNAME;DOUBLE_OPT-IN;EMAIL_MARKETING;ADDED_TIME;MODIFIED_TIME
      ann@example.com;Ann;Yes;Subscribed;2024-03-05 14:30:00;2024-03-05 14:30:00
      bob@example.com;Bob;No;Blocklisted;2024-03-06 09:00:00;2024-05-01 10:15:00
      cy@example.com;Cy;No;Subscribed;2024-03-07 09:00:00;2024-03-07 09:00:00`,
      ';',
    ),
    ...{ key: 'EMAIL', time: 'MODIFIED_TIME', word: 'EMAIL_MARKETING', records: 2, answers: 2, accepted: 1 },
  },
  {
    name: 'the file of the page, with its map',
    format: 'csv',
    map: JSON.parse(mapOfPage) as object,
    separator: ';',
    cells: table(csvOfPage, ';'),
    ...{ key: 'No', time: 'Left', word: 'Left it', records: 2, answers: 3, accepted: 1 },
  },
]

/** The bytes of a file, after a change of its cells or of its text. */
export function toBytes(
  { cells, separator = ',', encoding }: ForeignFile,
  { change = rows => rows, edit = text => text, isLatin1 }: Change = {},
): Buffer {
  const quote = (cell: string) => (cell.includes(separator) ? `"${cell}"` : cell)
  const text = edit(
    `${change(cells)
      .map(row => row.map(quote).join(separator))
      .join('\n')}\n`,
  )
  return encoding || isLatin1 ? Buffer.from(text.replaceAll('–', '\x96'), 'latin1') : Buffer.from(text)
}

export interface Change {
  readonly change?: (rows: readonly (readonly string[])[]) => readonly (readonly string[])[]
  readonly edit?: (text: string) => string
  readonly isLatin1?: true
}
