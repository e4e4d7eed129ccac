import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { documents } from '../../../src/contract/documents/index.ts'
import { purgeStatement } from '../../../src/contract/documents/purge-certificate.ts'
import {
  certificateSentences,
  liveSentences,
  phrases,
  purgePhrases,
  purgeSentences,
  recordSentences,
  resultSentences,
  verificationSentences,
} from '../../../src/erasure/sentences.ts'

/** A sentence, what was observed to say it, who must be trusted for it, and the tests in which it would be false. */
interface Row {
  readonly by: string
  readonly says: string
  readonly seen: string
  readonly trust: string
  /** File of the tests, and a part of the name of one. */
  readonly test: readonly [file: string, name: string]
}

const root = new URL('../../../', import.meta.url)
const sentencesTest = 'test/src/erasure/sentences.test.ts'
const service = 'the service, and anyone who can write to its database'
const profile = 'the machine and the key of the profile, and the answers of the service'

type Table<Sentence> = Readonly<Record<string, Sentence & { readonly entitledBy: string }>>

interface Telling<Sentence> {
  readonly trust: string
  /** Of the tests in sentences.test.ts. */
  readonly name: string
  /** File of the tests. Default: sentences.test.ts of erasures. */
  readonly file?: string
  /** The sentence as it is said of an example. Default: its name. */
  readonly tell?: (sentence: Sentence) => string
}

/** Rows of a table of sentences, besides which nothing is said. */
function rowsOf<Sentence>(table: Table<Sentence>, by: string, { trust, name, file, tell }: Telling<Sentence>): Row[] {
  return Object.entries(table).map(([key, sentence]) => ({
    by,
    says: tell ? `“${tell(sentence)}”` : `\`${key}\``,
    seen: sentence.entitledBy,
    trust,
    test: [file ?? sentencesTest, name],
  }))
}

const statement = 'logically deleted; personal data to be purged after N days'

const ids = ['ID', 'ID']
const counts = { deleted: 2, already_gone: 2, unknown: 2 }
const verification = { checked_at: '', live: 2, deleted: 2, remaining: [], isPurge: false }
const purge = {
  receipt: { number: 1, sha256: '' },
  ...{ finished_at: '2026-02-03T09:30:01.000Z', who: 'jo', host: 'desk' },
  certificates: [JSON.stringify({ records: [{ id: 'ID', purged_at: '2026-02-03T09:30:00.000Z' }] })],
}
const told = {
  ...({ result: 'erased', counts, verification, statement, account_id: 'A', near_matches: 2, purge } as const),
  records: ids.map(id => ({ id, result: 'deleted' as const })),
  unverified: ['ID'],
}
const uncertified = { ...told, purge: { ...purge, certificates: [] } }
const live = {
  receipt: { account_id: 'A' },
  account_id: 'B',
  isSubjectListed: true,
  live: ids,
  deleted: ids,
  unknown: ids,
}

const rows: Row[] = [
  {
    by: 'checkpoint',
    says: 'the first `tree_size` entries of the log of an account have the root `root_hash`',
    seen: 'every entry of the account that was stored then, once',
    trust: service,
    test: ['test/server/evidence/log.test.ts', 'the log has every entry once, and its checkpoint signs the root'],
  },
  {
    by: '`tlog-checkpoint`',
    says: 'the log of the origin has this size and this root',
    seen: 'the signed document of this checkpoint, which verified by its key and by the log of keys when it was asked for',
    trust: service,
    test: [
      'test/server/evidence/tlog.slow.test.ts',
      'signs nothing if the columns have another root than the document',
    ],
  },
  {
    by: 'administrators’ log',
    says: 'an entry: this actor changed this from `before` to `after`, or published this notice, at this time',
    seen: 'the change, in the statement that made it; not who held the key or the password',
    trust: service,
    test: ['test/server/audit/entries.slow.test.ts', 'in which each says what the one before it has left'],
  },
  {
    by: 'signing key',
    says: 'this key comes after that one, or is revoked from an instant on',
    seen: 'the order of the operator, signed by the key of the service at that time',
    trust: 'the operator, and the first key that was kept',
    test: ['test/server/evidence/keys.slow.test.ts', 'each key is introduced by the one before it'],
  },
  {
    by: 'consent receipt',
    says: 'the record is of this person, in this state, by these events',
    seen: 'the record, which is not deleted, its whole history, its notice and its entries in the log, which verify with each other as `admin verify` would have it',
    trust: `${service}; who sent the consent, for what it says`,
    test: ['test/server/consents/receipt.test.ts', 'names the record and its problem in the response and in the log'],
  },
  {
    by: 'consent receipt, `inclusion`',
    says: 'the last entry, and with it those before, is a leaf of the log under this checkpoint, and not under `previous`; null: not yet',
    seen: 'the entries in the log, with their hashes, a path from each to the root of the first checkpoint that has it, and one to that from the last complete checkpoint before, which no entry is dated more than ten minutes before; keys of the service signed both; for null an entry in the log that has no place yet',
    trust: service,
    test: ['test/server/consents/receipt.test.ts', 'whose checkpoint is gone'],
  },
  {
    by: 'consent receipt, `privacy_notice`',
    says: '`held`: this notice was published before the record was written; `locale`: in this language it was shown',
    seen: 'the publication in the administrators’ log, of the site and the version of the record, with a leaf before all of the record, whose hash names it; for `locale` what the sender told',
    trust: `${service}; who sent the answer, for the language, and that it was shown`,
    test: ['test/server/consents/notice.slow.test.ts', 'and never of a later one'],
  },
  {
    by: 'consent receipt, `privacy_notice`',
    says: '`not held`: the service tied no published notice to the record when it wrote it',
    seen: 'no version of a publication in the hash of the record',
    trust: service,
    test: ['test/server/consents/notice.slow.test.ts', 'and says that it is not held'],
  },
  {
    by: 'consent receipt, `origin`',
    says: '“as told by "SYSTEM", imported on INSTANT, file SHA-256 DIGEST”; `given_at` of an event: when the person answered there',
    seen: 'the import of the record, whose origin, times and digests are those of its hashes; nothing of what the importer says was seen',
    trust: `the importer, for all that it told; ${service}, for that it was told so, and when`,
    test: [
      'test/server/consents/receipt.test.ts',
      'says where it comes from by the word of the importer, and when each answer was given and recorded',
    ],
  },
  {
    by: 'consent receipt, `gpc` of an event',
    says: 'the answer came with the header `Sec-GPC: 1`',
    seen: 'the header of the request that the public route took, as it is in the hash of the entry; `false` is no such header, or no such request',
    trust: `${service}; who sent the request, for the header`,
    test: ['test/server/consents/receipt.test.ts', 'says that a signal came with an answer, and of no other answer'],
  },
  {
    by: 'erasure certificate',
    says: `\`erased\`, \`records\`: ${statement}`,
    seen: 'the entries of the deletions, in the transaction that wrote them; N is the setting of the service',
    trust: service,
    test: [
      'test/server/subjects/erase.test.ts',
      'deletes every live record of exactly the subject, names them, and certifies it',
    ],
  },
  {
    by: 'erasure certificate',
    says: '`unverified`: of these records, deleted too, nothing is said about a purge, which takes only what verifies',
    seen: 'their histories, after the deletion, as `admin verify` reads them, which did not verify, or not in the time of the call',
    trust: service,
    test: ['test/server/subjects/erase.test.ts', 'lists them apart from those that a purge will take'],
  },
  {
    by: 'erasure certificate',
    says: '`deleted`, `remaining`: so many records of the subject are deleted and not purged, or live',
    seen: 'a count over the sites of the account after the deletion',
    trust: service,
    test: [
      'test/server/subjects/erase.test.ts',
      'deletes every live record of exactly the subject, names them, and certifies it',
    ],
  },
  {
    by: 'purge certificate',
    says: purgeStatement,
    seen: 'each record and its whole history without personal data, which verify with each other',
    trust: service,
    test: ['test/server/subjects/purge-certificate.test.ts', 'certifies nothing of a purged record if'],
  },
  {
    by: 'erasure receipt',
    says: `\`statement\`: ${statement}`,
    seen: 'a record with the result `deleted` that the service did not name as `unverified`; N is that of the newest certificate, and without one the purge is said to be unknown',
    trust: profile,
    test: ['test/e2e/accounts.test.ts', 'with the key of another account nothing is said of the records of the first'],
  },
  {
    by: 'erasure receipt',
    says: '`statement`, of a purge: personal data of N records purged by INSTANT, certified by the service; what is left is pseudonymous; backups, write-ahead logs and free space of the database are not covered',
    seen: 'certificates of the service, each signed by a key that it publishes, that name all of these records; INSTANT is the latest time of a purge in them',
    trust: 'the service and the keys that it publishes; the machine and the key of the profile, for who had it purged',
    test: [
      'test/server/subjects/purge.slow.test.ts',
      'purges exactly what the receipt deleted, and chains a receipt of it',
    ],
  },
  {
    by: 'erasure receipt',
    says: '`account_id`, `api_key_id`: this account was searched, with this key',
    seen: 'the answer of `GET /api/v1/caller` to the key; null if there is none',
    trust: profile,
    test: ['test/src/erasure/account.test.ts', 'does not say whose account it searched'],
  },
  {
    by: 'erasure receipt',
    says: '`deleted_at_by`: `service` or `local`',
    seen: 'if the answer to the deletion, or the record, had a time',
    trust: profile,
    test: ['test/src/erasure/account.test.ts', 'marks times of deletion that are by the local clock'],
  },
  {
    by: 'erasure receipt',
    says: '`purge`: the personal data of the records with the result `deleted` was purged',
    seen: 'certificates of the service, each signed by a key that it publishes, that name all of these records',
    trust: 'the service and the keys that it publishes; the machine and the key of the profile, for who and when',
    test: [
      'test/server/subjects/purge.slow.test.ts',
      'purges exactly what the receipt deleted, and chains a receipt of it',
    ],
  },
  ...rowsOf(recordSentences, 'erasure receipt, of a record', {
    trust: profile,
    name: 'the result of a record in a receipt',
  }),
  ...rowsOf(resultSentences, 'erasure receipt, `result`', { trust: profile, name: 'the result of a receipt' }),
  ...rowsOf(purgePhrases, 'page of the receipt of a purge', {
    trust: profile,
    name: 'sentences about a receipt',
    tell: ({ page }) => page(page === purgePhrases.purgeNotCertified.page ? uncertified : told),
  }),
  ...rowsOf(phrases, 'page of a receipt, and terminal', {
    trust: profile,
    name: 'sentences about a receipt',
    tell: ({ page }) => page(told),
  }),
  ...rowsOf(verificationSentences, 'page of a receipt, `verification`', {
    trust: profile,
    name: 'the number of deleted records only if the instance showed them',
    tell: ({ text }) => text(verification),
  }),
  {
    by: 'import receipt',
    says: '`files`, `rows`, `left_out`, `refused_rows`, `first_given_at`, `last_given_at`: these files have so many rows and answers',
    seen: 'the bytes of the files, read once with the map; not that what they say is true',
    trust: 'the machine and the key of the profile; the source of the files, for what they say',
    test: ['test/e2e/history-import.test.ts', 'signs a receipt that is true to the database'],
  },
  ...(
    [
      ['made', 'the service answered that it made the record'],
      [
        'made_unanswered',
        'an answer to the import was lost, and when the record was sent again it was there, with an id of a time since `began_at`',
      ],
      [
        'known',
        'the service answered that the record was there, and no answer to the import was lost that may have made it, or its id is of a time before `began_at`',
      ],
      ['refused', 'the service refused the record when it was last sent, and not only for a time'],
    ] as const
  ).map(([says, seen]) => ({
    by: 'import receipt, `records`',
    says: `\`${says}\``,
    seen,
    trust: profile,
    test: ['test/src/commands/consents/import/replayed.test.ts', 'a record that was there'] as const,
  })),
  {
    by: 'export manifest',
    says: 'the export has these bytes, with so many records and entries of these sites',
    seen: 'what the service listed to the key, as it was written',
    trust: profile,
    test: ['test/src/erasure/verify.test.ts', 'refuses a manifest whose export was changed'],
  },
  {
    by: 'evidence pack',
    says: 'these are all files of the pack, with these digests',
    seen: 'all of them, which verified with each other as `verify` would have it when the service signed the list',
    trust: service,
    test: ['test/server/evidence/pack.slow.test.ts', 'is refused by the program with any one byte changed in any file'],
  },
  {
    by: 'dashboard, erasure',
    says: 'the sentences of the page of a receipt',
    seen: 'as for a receipt, by a page that has no key to sign with, and verifies no certificate that it passes on',
    trust: 'the browser, and the answers of the service',
    test: ['test/server/dashboard/person.slow.test.ts', 'does the same erasure as the command line'],
  },
  {
    by: 'dashboard, purge',
    says: '“2 records: personal data purged, as the service says and certifies.”',
    seen: 'certificates that name these records of the erasure, which the page does not verify',
    trust: 'the browser, and the answers of the service',
    test: ['test/server/dashboard/person.slow.test.ts', 'purges the erased records at once'],
  },
  {
    by: '`requests report`',
    says: 'so many requests were received, answered and late, for these reasons',
    seen: 'the register, as callers with the scope `erase` entered it, and the clock of the service when one was closed; no hash covers it',
    trust: `those who entered it; ${service}`,
    test: ['test/server/requests/commands.slow.test.ts', 'counts kinds, days and late requests with their reasons'],
  },
  {
    by: '`verify`, of a pack',
    says: '`history.json`: “the service signed at INSTANT that they are all; later changes are not known”',
    seen: 'a receipt that a key of the service signed, whose `chain_head` is the hash of the last entry; nothing is said of any file if a signed one is not valid',
    trust: 'the service',
    test: ['test/server/evidence/pack.slow.test.ts', 'is refused without a word of what the service signed'],
  },
  {
    by: '`verify`, of a pack',
    says: '“entry 2 of the record is leaf 7 of checkpoint.json; dated D; not in the log at A, in it at B”',
    seen: 'the steps of [two-sided time](./time.md#two-sided-time), with the files of the pack alone',
    trust:
      'those who gave the keys; the service, or the authorities of time stamps that somebody verifies, for A and B; the service alone for D',
    test: ['test/server/evidence/two-sided.slow.test.ts', 'the honest are valid, the back-dated are not, offline'],
  },
  {
    by: '`verify`, of a pack',
    says: '`valid`, of each file: it is as it was written, and fits the others as pack.md says',
    seen: 'the files alone, and the keys that were given, or those in the pack where the detail and a warning say so',
    trust: 'those who gave the keys; the service, for what it wrote before its checkpoint',
    test: ['test/server/evidence/pack.slow.test.ts', 'is refused if it was made anew with %s'],
  },
  {
    by: '`verify`',
    says: '`valid`: the holder of the key signed these bytes',
    seen: 'the signature, by a key of those that were given or that the instance publishes; type, version and fields',
    trust: 'those who gave the keys; the signer, for what the document says',
    test: ['test/src/commands/verify.test.ts', 'with any one byte changed, whatever it becomes'],
  },
  {
    by: '`verify`, of a consent receipt',
    says: '“its last event is dated D; not in the log at A, in it at B”; “dated D; in the log at B, and no checkpoint shows when it was not”; “its record was not in the log yet”',
    seen: 'the steps of [two-sided time](./time.md#two-sided-time), with the receipt alone; the last one is the word of the receipt',
    trust: 'those who gave the keys; the service',
    test: ['test/src/commands/verify.test.ts', 'a receipt whose record is in the log'],
  },
  {
    by: '`verify --live`',
    says: '“the log only grew since, to that of INSTANT”',
    seen: 'a consistency proof from the checkpoint of the document or pack to the one that the instance showed as its newest, both signed by keys that it publishes',
    trust: 'the service and the keys that it publishes',
    test: ['test/src/commands/verify.test.ts', 'refuses it if the log %s'],
  },
  {
    by: '`verify`, of an export manifest',
    says: '“FILE is the export that it is for”; “its export is not beside it”',
    seen: 'the SHA-256 of the file that has the name of the manifest without its ending; or that there is none',
    trust: 'who signed the manifest',
    test: ['test/src/erasure/verify.test.ts', 'says if the export is missing'],
  },
  {
    by: '`verify`, of the receipt of a purge',
    says: '“it is the receipt of a purge, and says: personal data of 2 records purged by INSTANT, certified by the service; …”',
    seen: 'the certificates in the receipt, which name each record that it says was deleted; their signatures are not verified by it',
    trust: 'the machine and the key of the profile, which verified the certificates when it signed the receipt',
    test: [
      'test/server/subjects/purge.slow.test.ts',
      'purges exactly what the receipt deleted, and chains a receipt of it',
    ],
  },
  {
    by: '`get --at`',
    says: '`word`: `importer`, and “ID was imported from SYSTEM at INSTANT: what it was before that is the importer’s word”; else `service`',
    seen: 'that the entry of the state was imported after the moment; else that it was written by then',
    trust: 'the importer, or the answers of the service',
    test: ['test/src/commands/at/get.test.ts', 'o’clock says whose word it is'],
  },
  {
    by: '`history --verify`',
    says: '`ok`, consistent in itself: the entries of the answer are a whole chain from the first on',
    seen: 'every hash, computed from the answer; not that no later entry was cut off, nor who wrote them',
    trust: service,
    test: [
      'test/src/evidence/format.test.ts',
      'verifies the %s, as the program does, and no history in which one value is another',
    ],
  },
  {
    by: '`history --verify --checkpoint`',
    says: '`ok`, under the checkpoint of an instant: the entries, but for those above a version that is named, were in the log then, and it only grew since',
    seen: 'a proof of inclusion of one entry, whose hash covers those before it, and of consistency with the newest checkpoint, by the kept checkpoint; later entries are named as not proved, and none of them is dated before the checkpoint',
    trust: 'the keeper of the checkpoint; the service, for what it wrote before',
    test: ['test/src/commands/history-verify.test.ts', 'refuses the history of a log that %s'],
  },
  {
    by: '`history --verify --checkpoint`',
    says: '`not_covered`: consistent in itself, and newer than the checkpoint, which does not vouch for it',
    seen: 'the service proves no entry of it, and each is dated after the checkpoint; the first is of the time in the id of the record, so an old record cannot be passed off as a new one',
    trust: 'the service, and anyone who can write to its database',
    test: [
      'test/src/commands/history-verify.test.ts',
      'does not take a record that is missing from the log for a new one',
    ],
  },
  {
    by: '`admin verify`',
    says: '`verified`: records, histories, log and checkpoints agree',
    seen: 'all of them in the database, and the kept checkpoints if they were given; no entry is dated more than ten minutes before a complete checkpoint, stored or kept, that was made without it',
    trust: 'anyone who can write to the whole database, unless checkpoints were kept elsewhere',
    test: [
      'test/server/verify/verify.slow.test.ts',
      'a history that was rewritten with its log and new checkpoints is found only by a kept checkpoint',
    ],
  },
  {
    by: '`admin verify --tsa-ca`',
    says: '`verified`, N timestamps: each is of its checkpoint, which was there at the time that it states',
    seen: 'the answer of the authority for the bytes of the checkpoint, by a certificate that was valid then and chains to the given one; none is missing between two others',
    trust: 'the authority, its clock and its key; who gave the certificate',
    test: ['test/server/timestamps/timestamps.slow.test.ts', 'are named by admin verify when a byte is changed'],
  },
  {
    by: '`subject verify`',
    says: '`form`, `signature`, `chain`, `subject`: as signed, in a chain without gaps, about this person',
    seen: 'the receipts of the profile, its key and the digest of the newest',
    trust: 'the machine and the key of the profile',
    test: ['test/src/erasure/receipts.test.ts', 'verifies from any of its receipts'],
  },
  ...rowsOf(certificateSentences, '`subject verify --live`, certificates', {
    trust: 'the service and the keys that it publishes',
    name: 'the sentences of subject verify',
    tell: ({ text }) => text({ count: 2 }),
  }),
  ...rowsOf(liveSentences, '`subject verify --live`', {
    trust: 'the answers of the service',
    name: 'the sentences of subject verify',
    tell: ({ text }) => text(live),
  }),
  ...rowsOf(purgeSentences, '`subject verify --purged`', {
    trust: 'the service and the keys that it publishes',
    name: 'the sentences of subject verify',
    tell: ({ text }) => text({ purged: ids, others: ids, unknown: ids }),
  }),
]

it('the page of formats has every sentence that can be said, with what was observed to say it', () => {
  const page = readFileSync(new URL('src/evidence/sentences.md', root), 'utf8')
  const [, list = ''] = /<!-- sentences -->\n\n([\s\S]*?)\n\n<!-- \/sentences -->/.exec(page) ?? []
  const items = list.split(/^- /m).slice(1)
  expect(items.map(item => item.replace(/\s+/g, ' ').trim())).toEqual(
    rows.map(({ by, says, seen, trust }) => `${by}: ${says}; seen: ${seen}; trusted: ${trust}`),
  )
})

it('every kind of signed document has a sentence', () => {
  const said = rows.map(({ by }) => by.replace(/,.*/, ''))
  const names = Object.values(documents).map(({ title }) => title.toLowerCase())
  expect(names.filter(name => !said.includes(name.replace(/^(key revocation|signing key.*)$/, 'signing key')))).toEqual(
    [],
  )
})

describe('each sentence is held by a test that exists and runs', () => {
  it.each(rows.map(({ by, says, test }) => [`${by}: ${says.slice(0, 40)}`, ...test]))('%s', (_, file, name) => {
    const lines = readFileSync(new URL(file, root), 'utf8').split('\n')
    const found = lines.find(line => line.includes(name))
    expect(found, `${file}: ${name}`).toBeDefined()
    expect(found).not.toMatch(/\.(skip|todo)\b/)
  })
})
