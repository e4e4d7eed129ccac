import { deletedIds, describePurge } from '../contract/documents/deletion-statement.ts'
import type { ErasureReceipt } from '../contract/documents/erasure-receipt.ts'
import { visible } from '../output/index.ts'
import { markdownTable, markdownText } from '../output/markdown.ts'
import { sha256 } from '../receipts/store.ts'
import type { StoredReceipt, SubjectReceipt } from './receipts.ts'
import { describeOnPage, describeVerification, type Told } from './sentences.ts'

/** Writes GitHub's Markdown; untrusted text is escaped. */
export function formatPage({ receipt, bytes }: StoredReceipt<ErasureReceipt>): string {
  const sections = [
    `# ${receipt.purge ? 'Purge' : 'Erasure'} record ${receipt.number}: ${markdownText(receipt.ticket)}`,
    describeReceipt(receipt),
    ...(receipt.purge ? ['## What was purged', markdownTable(['', ''], purgeRows(receipt.purge))] : []),
    '## What was asked',
    markdownTable(['', ''], requestRows(receipt)),
    receipt.purge ? '## What was done before' : '## What was done',
    markdownTable(['', ''], workRows(receipt)),
    ...(receipt.sites.length > 0 ? [siteTable(receipt)] : []),
    ...(receipt.records.length > 0 ? ['## Records', recordTable(receipt)] : []),
    ...(receipt.verification.sealed_proofs ? ['## Sealed proofs', proofTable(receipt.verification.sealed_proofs)] : []),
    '## How to verify this',
    formatProof(receipt, sha256(bytes)),
  ]
  return `${sections.join('\n\n')}\n`
}

/** Includes the sentence of a purge. The dashboard has no purge receipts. */
export function describeReceipt(receipt: Told): string {
  const { purge } = receipt
  if (!purge) return describeOnPage(receipt)
  const ids = deletedIds(receipt)
  const certified = describePurge(ids, purge.certificates)
  const said = certified
    ? `P${certified.slice(1)}.`
    : `Personal data of ${ids.length} ${ids.length === 1 ? 'record' : 'records'} was purged by ${purge.finished_at}, as stated by the signer: its certificates do not name each record.`
  const repeats = `Apart from the purge, this page repeats erasure record ${purge.receipt.number}, and is of its time.`
  return [said, repeats, describeOnPage(receipt)].join(' ').trim()
}

export function requestRows(receipt: SubjectReceipt): Cells[] {
  const { ticket, reason, received_at, due_at, subjects, subject_hmacs } = receipt
  return [
    ['Ticket', ticket],
    ['Reason', reason ?? 'not given'],
    ['Received', received_at ?? 'not given'],
    ['Due (GDPR Art. 12(3))', due_at ?? 'not known'],
    ...(subjects ?? subject_hmacs).map(
      (each): Cells => [subjects ? 'Person' : 'Person, as a digest with a secret key (HMAC)', each],
    ),
  ]
}

function purgeRows({ who, host, finished_at, receipt }: NonNullable<ErasureReceipt['purge']>): Cells[] {
  return [
    ['Purged', `what erasure record ${receipt.number} says was deleted`],
    ['Carried out by', describeOperator(who, host)],
    ['Finished', finished_at],
    ['SHA-256 of that record', receipt.sha256],
  ]
}

function workRows(receipt: ErasureReceipt): Cells[] {
  const { verification } = receipt
  return [
    ...makingRows(receipt),
    ['Verified', `${verification.checked_at}: ${describeVerification(verification, receipt.purge !== undefined)}`],
    ...(receipt.statement === null || receipt.purge ? [] : [['Statement', receipt.statement] as Cells]),
  ]
}

export function makingRows(receipt: SubjectReceipt): Cells[] {
  const { who, host, profile, instance, started_at, finished_at, job } = receipt
  const offset = receipt.clock_offset_seconds
  return [
    ['Carried out by', describeOperator(who, host)],
    ['Settings (profile)', profile],
    ['Service', instance],
    ['Account', receipt.account_id ?? 'not told by the service'],
    ['API key', receipt.api_key_id ?? 'not told by the service'],
    ['Job', job],
    ['Started', started_at],
    ['Finished', finished_at],
    ...(offset === null ? [] : [['Clock', `${offset} s ahead of the service`] as Cells]),
  ]
}

/** The account of the operating system; nobody saw who used it. */
function describeOperator(who: string, host: string): string {
  return `the user account ${who} of the computer ${host}`
}

const results: Readonly<Record<ErasureReceipt['records'][number]['result'], string>> = {
  deleted: 'deleted',
  already_gone: 'no longer there, not by this job',
  unknown: 'no longer there; who deleted it is not known',
  remaining: 'not deleted',
}

function siteTable({ sites }: ErasureReceipt): string {
  const rows = sites.map(({ site_id, deleted, already_gone, unknown }): Cells => {
    const counts = [deleted, already_gone, unknown].map(String)
    return [site_id ?? '(none)', ...counts]
  })
  return markdownTable(
    ['Site', 'Deleted', 'No longer there, not by this job', 'No longer there; who deleted it is not known'],
    rows,
  )
}

function proofTable(kept: NonNullable<ErasureReceipt['verification']['sealed_proofs']>): string {
  const rows = kept.map(({ site_id, proofs, basis, until }): Cells => [site_id, String(proofs), basis, until])
  return markdownTable(['Site', 'Proofs', 'Basis', 'Until, or longer while a legal hold stands'], rows)
}

function recordTable({ records }: ErasureReceipt): string {
  const rows = records.map(
    ({ id, site_id, result, deleted_at, deleted_at_by, request_id }): Cells => [
      id,
      site_id ?? '',
      results[result],
      `${deleted_at ?? ''}${deleted_at_by === 'local' ? ' (by the clock of that computer)' : ''}`,
      request_id ?? '',
    ],
  )
  return markdownTable(['Record', 'Site', 'Result', 'Deleted at', 'Request'], rows)
}

export function proofLines({ previous, key_id }: SubjectReceipt, digest: string): string[] {
  return [
    `- SHA-256 of the signed document: ${code(digest)}`,
    `- Signed with the Ed25519 key ${code(key_id)}`,
    previous
      ? `- It follows record ${previous.number}, whose SHA-256 is ${code(previous.sha256)}`
      : '- It is the first of its chain',
  ]
}

function formatProof(receipt: ErasureReceipt, digest: string): string {
  const { number, certificates, purge } = receipt
  const lines = [
    ...proofLines(receipt, digest),
    ...(certificates.length === 0 && !purge ? [] : ['- It holds what the service itself has signed']),
    purge
      ? `- ${code(`consentctl subject verify ${number} --purged`)} checks the signature, the chain, and that the service certifies the purge again`
      : `- ${code(`consentctl subject verify ${number} --live`)} checks the signature, the chain, and that the service shows the records as deleted`,
  ]
  return lines.join('\n')
}

type Cells = readonly string[]

export function code(text: string): string {
  return `\`${visible(text).replaceAll('`', "'")}\``
}
