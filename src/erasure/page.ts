import type { ErasureReceipt } from '../contract/documents/erasure-receipt.ts'
import { visible } from '../output/index.ts'
import { type StoredReceipt, sha256 } from './receipts.ts'

/**
 * A receipt as a page for people, in Markdown (GitHub's, for its tables). Whatever others wrote stands in it as text and
 * nothing else: no mark-up, no link, no HTML.
 */
export function pageOf({ receipt, bytes }: StoredReceipt): string {
  const sections = [
    `# Erasure receipt ${receipt.number}: ${plain(receipt.ticket)}`,
    summaryOf(receipt),
    '## What was asked',
    table(['', ''], requestRows(receipt)),
    '## What was done',
    table(['', ''], workRows(receipt)),
    ...(receipt.sites.length > 0 ? [siteTable(receipt)] : []),
    ...(receipt.records.length > 0 ? ['## Records', recordTable(receipt)] : []),
    '## How to verify this',
    proofOf(receipt, sha256(bytes)),
  ]
  return `${sections.join('\n\n')}\n`
}

function summaryOf({ result, counts, verification }: ErasureReceipt): string {
  if (result === 'no_data_held') return 'No data was held on this person.'
  if (result === 'nothing_live')
    return `Nothing live was held on this person; ${verification.deleted} deleted before still hold data until they are purged.`
  const gone = counts.deleted + counts.deleted_in_bulk
  const already = counts.already_gone > 0 ? `, and ${counts.already_gone} found gone already` : ''
  const unknown =
    counts.unknown > 0 ? ` Of ${counts.unknown}, now gone, it is not known who deleted them.` : ''
  const done = `${gone} ${gone === 1 ? 'record was' : 'records were'} logically deleted${already}; the audit trail is kept.${unknown}`
  const { live } = verification
  return result === 'erased' ? done : `${done} **Of this person, ${live} remained or came anew.**`
}

function requestRows(receipt: ErasureReceipt): Cells[] {
  const { ticket, reason, received_at, due_at, subjects, subject_hmacs } = receipt
  return [
    ['Ticket', ticket],
    ['Reason', reason ?? 'not given'],
    ['Received', received_at ?? 'not given'],
    ['Due (GDPR Art. 12(3))', due_at ?? 'not known'],
    ...(subjects ?? subject_hmacs).map((each): Cells => [subjects ? 'Subject' : 'Subject (HMAC)', each]),
  ]
}

function workRows(receipt: ErasureReceipt): Cells[] {
  const { who, host, profile, instance, started_at, finished_at, verification, job } = receipt
  const { deleted, live, checked_at } = verification
  const held = deleted === null ? '' : `; ${deleted} deleted ones still hold data`
  const offset = receipt.clock_offset_seconds
  return [
    ['By', `${who} on ${host}, profile ${profile}`],
    ['Service', instance],
    ['Job', job],
    ['Started', started_at],
    ['Finished', finished_at],
    ...(offset === null ? [] : [['Clock', `${offset} s ahead of the service`] as Cells]),
    ['Verified', `${checked_at}: ${live} live${held}`],
    ['Statement', receipt.statement],
  ]
}

function siteTable({ sites }: ErasureReceipt): string {
  const rows = sites.map(
    ({ site_id, deleted, already_gone, deleted_in_bulk, unknown }): Cells => [
      site_id ?? '(none)',
      String(deleted + deleted_in_bulk),
      String(already_gone),
      String(unknown),
    ],
  )
  return table(['Site', 'Deleted', 'Gone already', 'Gone, not known by whom'], rows)
}

function recordTable({ records }: ErasureReceipt): string {
  const rows = records.map(
    ({ id, site_id, result, deleted_at, request_id }): Cells => [
      id,
      site_id ?? '',
      result,
      deleted_at ?? '',
      request_id ?? '',
    ],
  )
  return table(['Record', 'Site', 'Result', 'Deleted at', 'Request'], rows)
}

function proofOf({ number, previous, key_id, certificates }: ErasureReceipt, digest: string): string {
  const lines = [
    `- SHA-256 of the receipt: ${code(digest)}`,
    `- Signed with the Ed25519 key ${code(key_id)}`,
    previous
      ? `- It follows receipt ${previous.number}, whose SHA-256 is ${code(previous.sha256)}`
      : '- It is the first of its chain',
    ...(certificates.length === 0 ? [] : ['- It holds what the service itself has signed']),
    `- ${code(`consentctl subject verify ${number} --live`)} checks the signature, the chain, and that the records are gone`,
  ]
  return lines.join('\n')
}

type Cells = readonly string[]

function table(header: Cells, rows: readonly Cells[]): string {
  const line = (cells: Cells) => `| ${cells.map(plain).join(' | ')} |`
  return [line(header), `|${header.map(() => '---|').join('')}`, ...rows.map(line)].join('\n')
}

/** Ids that are made of harmless characters stay as they are, to be copied. */
function code(text: string): string {
  return `\`${visible(text).replaceAll('`', "'")}\``
}

/** Text without any meaning to Markdown or HTML, on one line. */
function plain(text: string): string {
  return visible(text)
    .replace(/&/g, '&amp;')
    .replace(/</g, '&lt;')
    .replace(/>/g, '&gt;')
    .replace(/[\\`*_[\]#|~@]/g, mark => `&#${mark.charCodeAt(0)};`)
    .replace(/:\/\//g, '&#58;//')
    .replace(/^(\d+)\.|^-/g, first => first.replace(/[.-]/, mark => `&#${mark.charCodeAt(0)};`))
    .replace(/www\./gi, found => found.replace('.', '&#46;'))
}
