import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { documents } from '../../../src/contract/documents/index.ts'

const root = new URL('../../../', import.meta.url)

const purge = 'purges exactly the records that the receipt deleted, and chains a receipt of the purge to it'
const certified = 'deletes every live record of exactly the subject, returns their ids, and certifies it'

/** The beginnings of sentences, by file and part of the name of a test in which they would be false. */
const tests: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = {
  'test/server/evidence/log.test.ts': {
    'the log contains every entry once, and its checkpoint signs the root': ['checkpoint:'],
  },
  'test/server/evidence/tlog.slow.test.ts': {
    'signs nothing if the root in the columns differs from the document': ['`tlog-checkpoint`:'],
  },
  'test/server/audit/entries.slow.test.ts': {
    'form one chain without forks': ['administrators’ log:'],
  },
  'test/server/evidence/keys.slow.test.ts': { 'each key is introduced by the previous one': ['signing key:'] },
  'test/server/consents/receipt.test.ts': {
    'names the record and its problem in the response and in the log': ['consent receipt: the record'],
    'states each purpose since the event that gave, refused or withdrew it': ['consent receipt, `purposes`'],
    'names newer answers of the same identifier on the site': ['consent receipt, `newer_answers`'],
    'whose checkpoint is gone': ['consent receipt, `inclusion`'],
    'states its origin as reported by the importer, and when each answer was given and recorded': [
      'consent receipt, `origin`',
    ],
    'names the answer that a signal accompanied': ['consent receipt, `gpc`'],
    'states the circumstances of each answer that came with them': ['consent receipt, `circumstances`'],
  },
  'test/server/consents/notice.slow.test.ts': {
    'never a later one': ['consent receipt, `privacy_notice`: `held`'],
    'and reports that its notice is not held': ['consent receipt, `privacy_notice`: `not held`'],
  },
  'test/server/subjects/erase.test.ts': {
    [certified]: ['erasure certificate: `erased`', 'erasure certificate: `deleted`'],
    'lists them separately from those that a purge will remove': ['erasure certificate: `unverified`'],
  },
  'test/server/subjects/purge-certificate.test.ts': {
    'does not certify a purged record if': ['purge certificate:'],
  },
  'test/server/subjects/sealed.test.ts': {
    'leaves nothing of a record without a subject, or whose period has ended': ['purge certificate, `sealed`:'],
    'and 404 for any other and any other record': ['`presented` of an evidence pack:'],
  },
  'test/e2e/accounts.test.ts': {
    'with the key of another account, reveals nothing about the records of the first': [
      'erasure receipt: `statement`: ',
    ],
  },
  'test/server/subjects/purge.slow.test.ts': {
    [purge]: ['erasure receipt: `statement`, of a purge', 'erasure receipt: `purge`', '`verify`, of the receipt of a'],
  },
  'test/src/erasure/account.test.ts': {
    'reports neither an account nor a deletion': ['erasure receipt: `account_id`'],
    'when the service reports no deletion time, a receipt states': ['erasure receipt: `deleted_at_by`'],
  },
  'test/src/erasure/sentences.test.ts': {
    'result of a record in a receipt': ['erasure receipt, of a record:'],
    'result of a receipt': ['erasure receipt, `result`:'],
    'names the sealed proofs that are kept': ['erasure receipt, `verification.sealed_proofs`'],
    'receipt sentences': ['page of the receipt of a purge:', 'page of a receipt, and terminal:'],
    'state the number of deleted records only if the instance showed them': ['page of a receipt, `verification`:'],
    'subject verify sentences': ['`subject verify --live`: ', '`subject verify --purged`:'],
  },
  'test/src/erasure/withdrawal.test.ts': {
    'withdrawal sentences': ['page of a withdrawal receipt', '`subject verify --live`, of a withdrawal'],
    'a withdrawal receipt that contradicts itself': ['withdrawal receipt: ', 'withdrawal receipt, `'],
    'states of each record what the service and its history show': ['withdrawal receipt, of a record'],
  },
  'test/src/erasure/certificates.test.ts': {
    'rejects certificates of another erasure with the same ticket and count': ['`subject verify --live`, certificates'],
  },
  'test/src/erasure/receipts.test.ts': { 'verifies starting from any receipt': ['`subject verify`:'] },
  'test/src/erasure/verify.test.ts': {
    'rejects a manifest whose export was changed': ['export manifest:'],
    'says if the export is missing': ['`verify`, of an export manifest'],
  },
  'test/e2e/history-import.test.ts': { 'signs a receipt that matches the database': ['import receipt: '] },
  'test/src/commands/consents/import/replayed.test.ts': {
    'with a lost response: %s, returns %s': ['import receipt, `records`'],
  },
  'test/server/evidence/pack.slow.test.ts': {
    'is rejected with any one byte of any file changed': ['evidence pack:'],
    'is rejected without stating what the service signed': ['`verify`, of a pack: `history.json`'],
    'is rejected when it was rebuilt with %s': ['`verify`, of a pack: `valid`'],
  },
  'test/server/evidence/two-sided.slow.test.ts': {
    'the honest ones are valid offline, the backdated ones are not': ['`verify`, of a pack: “entry'],
  },
  'test/server/dashboard/person.slow.test.ts': {
    'erases like the command line': ['dashboard, erasure'],
    'purges erased records immediately': ['dashboard, purge'],
  },
  'test/server/requests/commands.slow.test.ts': {
    'counts kinds, days and late requests with their reasons': ['`requests report`'],
  },
  'test/src/commands/verify.test.ts': {
    'rejects any one changed byte': ['`verify`: `valid`'],
    'a receipt whose record is in the log': ['`verify`, of a consent receipt: “its last'],
    'rejects a receipt if the log %s': ['`verify --live`:'],
    'says that a newer answer was recorded': ['`verify`, of a consent receipt: “a newer'],
    'says what changed since': ['`verify --live`, of a consent receipt'],
  },
  'test/src/commands/check-list.test.ts': {
    'signs what was read and written': ['gate receipt: '],
    'says if a file is the list that it allows': ['`verify --list`'],
  },
  'test/src/commands/at/get.test.ts': { 'o’clock, names the source of each value': ['`get --at`'] },
  'test/src/evidence/format.test.ts': {
    'accepts the %s like the program, and no history with one value changed': ['`history --verify`:'],
  },
  'test/src/commands/history-verify.test.ts': {
    'rejects the history of a log that %s': ['`history --verify --checkpoint`: `ok`'],
    'does not mistake a record that is missing from the log for a new one': [
      '`history --verify --checkpoint`: `not_covered`',
    ],
  },
  'test/server/verify/verify.slow.test.ts': {
    'a history rewritten with its log and new checkpoints is detected only by a kept checkpoint': ['`admin verify`:'],
  },
  'test/server/timestamps/timestamps.slow.test.ts': {
    'are reported by admin verify when a signed byte is changed': ['`admin verify --tsa-ca`'],
  },
}

const held = Object.entries(tests).flatMap(([file, names]) =>
  Object.entries(names).flatMap(([name, beginnings]) => beginnings.map(beginning => ({ file, name, beginning }))),
)

const page = readFileSync(new URL('src/evidence/sentences.md', root), 'utf8')
const [, list = ''] = /<!-- sentences -->\n\n([\s\S]*?)\n\n<!-- \/sentences -->/.exec(page) ?? []
const sentences = list
  .split(/^- /m)
  .slice(1)
  .map(item => item.replace(/\s+/g, ' ').trim())

it.each(sentences)('states what was observed and what is trusted: %s', sentence => {
  expect(sentence).toMatch(/^.+: .+; seen: .+; trusted: .+$/)
  expect(held.filter(({ beginning }) => sentence.startsWith(beginning))).toHaveLength(1)
})

it('every kind of signed document has a sentence', () => {
  const said = sentences.map(sentence => sentence.replace(/[,:].*/, ''))
  const names = Object.keys(documents).map(type => type.replaceAll('_', ' '))
  expect(names.filter(name => !said.includes(name.replace(/^(key revocation|signing key.*)$/, 'signing key')))).toEqual(
    [],
  )
})

describe('each sentence is covered by a test that exists and runs', () => {
  it.each(held)('covers the sentence that starts with $beginning', ({ file, name, beginning }) => {
    expect(sentences.some(sentence => sentence.startsWith(beginning))).toBe(true)
    const lines = readFileSync(new URL(file, root), 'utf8').split('\n')
    const found = lines.find(line => line.includes(name))
    expect(found, `${file}: ${name}`).toBeDefined()
    expect(found).not.toMatch(/\.(skip|todo)\b/)
  })
})
