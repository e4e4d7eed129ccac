import { describeOrigin } from '../../src/contract/origin.ts'
import { describeDate, findBracket } from '../../src/evidence/dates.ts'
import type { Pack } from '../../src/evidence/pack.ts'
import { describeAnswer } from '../../src/evidence/since.ts'
import { consentOf, datePurposes, purposeWords } from '../../src/evidence/state.ts'

function isPurged({ history }: Pick<Pack, 'history'>): boolean {
  return history.some(({ action }) => action === 'purged')
}

function readConsent({ history, notice }: Pack) {
  return consentOf(
    history,
    notice?.manifest.purposes.map(({ key }) => key),
  )
}

/** After each event. A purged record's purposes, and so its state, are unknown. */
export function describeAnswers(pack: Pack): string[] {
  if (isPurged(pack))
    return pack.history.map(
      ({ accepted }) => `${accepted ? 'accepted' : 'not accepted'}; purposes not known after the purge`,
    )
  return readConsent(pack).events.map(({ state }) => `consent ${state === 'partly' ? 'partly given' : state}`)
}

function describePurposes(pack: Pack): [name: string, value: string][] {
  if (isPurged(pack)) return []
  const times = pack.history.map(({ given_at, created_at }) => given_at ?? created_at)
  return datePurposes(readConsent(pack).purposes, times).map(({ purpose, state, since }) => [
    `Purpose ${JSON.stringify(purpose)}`,
    since === null ? purposeWords(state) : `${purposeWords(state)} since ${since}`,
  ])
}

function describeNewer({ record, receipt }: Pack): [name: string, value: string][] {
  if (!receipt) return []
  const { newer_answer: newer, issued_at } = receipt
  if (record.subject_id === null) return [['Newer answer', 'not known: the record names no person']]
  if (!newer) return [['Newer answer of this person on this site', `none known to the service at ${issued_at}`]]
  return [['NEWER ANSWER of this person on this site', describeAnswer(newer)]]
}

/** Values are foreign text. */
export function describeRecord(pack: Pack): [name: string, value: string][] {
  const { record, history, receipt, checkpoint, checkpoints, first, notice } = pack
  const last = history.at(-1)
  const state =
    last?.action === 'purged' ? 'deleted, and its personal data purged' : record.deleted_at ? 'deleted' : 'live'
  const locale = record.notice_locale
  return [
    ['Record', record.id],
    ['Account', checkpoint.account_id],
    ['Site', record.site_id ?? 'none'],
    ['Person, as the sender named them', record.subject_id ?? 'none'],
    ['Label', record.consent_id ?? 'none'],
    ['Answer', describeAnswers(pack).at(-1) ?? ''],
    ...describePurposes(pack),
    ...describeNewer(pack),
    ['Preferences', JSON.stringify(record.preferences)],
    ['State of the record', state],
    ['Made at, by the clock of the service', record.created_at],
    ...describeImport(record, history),
    ['Changes since', String(history.filter(({ action }) => action !== 'created' && action !== 'imported').length)],
    ['Version of the policy', String(record.policy_version)],
    [
      'Notice',
      notice ? describeNotice(notice) : 'not held: the service tied no published notice to the record when it wrote it',
    ],
    ['Language that was shown, as the sender told it', locale ?? 'not told'],
    ...(record.gpc ? [['Signal of the browser (Sec-GPC: 1) with the last answer', 'sent'] as [string, string]] : []),
    ['Receipt', receipt ? `signed at ${receipt.issued_at}` : 'none'],
    [
      'In the log',
      describeDate(
        history[0].created_at,
        findBracket([...checkpoints.map(({ checkpoint }) => checkpoint), checkpoint], first.leaf_index),
      ),
    ],
  ]
}

function describeImport(
  { origin, given_at }: Pack['record'],
  history: Pack['history'],
): [name: string, value: string][] {
  const imported = history.filter(({ action }) => action === 'imported')
  if (!origin || !given_at) return []
  const files = [...new Set(imported.flatMap(({ file_sha256 }) => file_sha256 ?? []))]
  return [
    ['Origin', describeOrigin({ system: origin.system, imported_at: history[0].created_at, files })],
    ['Id there, as the importer told it', origin.id ?? 'purged'],
    ['Evidence there, as the importer told it', origin.evidence ?? 'none'],
    ['Answers that were imported', String(imported.length)],
    ['The last of them at, as the importer told it', given_at],
  ]
}

function describeNotice({ entry, manifest }: NonNullable<Pack['notice']>): string {
  const languages = manifest.texts.map(({ language }) => language).join(', ')
  return `version ${manifest.policy_version}, published at ${entry.at}, in ${languages || 'no language'}`
}

interface FileWords {
  readonly name: string
  readonly shows: string
  readonly lacks: string
}

const words: readonly (FileWords & { readonly isIn: (pack: Pack, isTruncated: boolean) => boolean })[] = [
  {
    name: 'receipt.json',
    isIn: ({ receipt }) => receipt !== null,
    shows: 'the service signed what the record says and how it came about.',
    lacks: 'who answered. The service wrote what the holder of a key, or a browser, has sent.',
  },
  {
    name: '(no receipt.json)',
    isIn: ({ receipt }) => receipt === null,
    shows: 'the service signed no receipt. It signs none of a deleted record.',
    lacks: 'anything about the answer, or that the history had no later entry then.',
  },
  {
    name: 'record.json, history.json',
    isIn: pack => !isPurged(pack),
    shows:
      'each change with its time, chained by hashes. The first hash covers the person, the site, the place, the address and the notice of record.json.',
    lacks:
      'who a key or a site belongs to in the world. Times are of the clock of the service. Later changes, such as a withdrawal, are not in this folder.',
  },
  {
    name: 'record.json, history.json',
    isIn: isPurged,
    shows:
      'each change with its time, chained by hashes. The hash of the purge covers what the purge left in record.json.',
    lacks: 'the person and the purposes, which were purged, and who a key or a site belongs to in the world.',
  },
  {
    name: '(imported)',
    isIn: ({ record }) => record.origin !== undefined,
    shows:
      'where the record comes from, when the person answered and which file says so, as the importer told the service; the hashes cover it, so that it was not changed since the import.',
    lacks:
      'that any of it happened: the service saw the import and nothing before it. Compare the SHA-256 with that of the file, and ask its source.',
  },
  {
    name: '(Sec-GPC)',
    isIn: ({ history }) => history.some(({ gpc }) => gpc),
    shows: 'a browser sent the signal Sec-GPC: 1 with the answers that say so.',
    lacks: 'who turned it on, or that others came without it: only answers from a browser to this service can have it.',
  },
  {
    name: 'checkpoint.json, record.inclusion.json, record-first.inclusion.json',
    isIn: () => true,
    shows:
      'the service signed the state of its log at one time, and the log had the first entry of history.json and the one that it ends with. None of them was written or changed later without breaking this.',
    lacks:
      'that the history ended there, or that the log is the only one: compare checkpoint.json with a checkpoint that somebody else has kept.',
  },
  {
    name: 'checkpoints/, record-N.inclusion.json',
    isIn: ({ checkpoints }) => checkpoints.length > 0,
    shows:
      'the log at earlier times, from which it only grew to that of checkpoint.json: the last without an entry of history.json, and the first with it. So an entry that is dated long before the log got it is found.',
    lacks:
      'when an entry was made between the two. The times are of the clock of the service, but for those of time stamps (.tsr).',
  },
  {
    name: 'checkpoint.tsr, checkpoints/N.tsr',
    isIn: ({ files }) => [...files.keys()].some(name => name.endsWith('.tsr')),
    shows:
      'a time-stamping authority saw the checkpoint of that name at the time in it: openssl ts -verify -data checkpoint.json -in checkpoint.tsr -CAfile CA.pem, with a certificate of the authority that you got elsewhere.',
    lacks: 'anything about what came after that time.',
  },
  {
    name: 'notice.json, notice.inclusion.json, notice/',
    isIn: ({ notice }) => notice !== null,
    shows:
      'this notice was published for this site and version before the record was made, by the order of the log. notice/ has its texts, byte for byte, in all languages of this version.',
    lacks: 'that a text was shown to this person, or read. Which language was shown is the word of the sender.',
  },
  {
    name: '(no notice)',
    isIn: ({ notice }) => notice === null,
    shows: 'the service tied no published notice to the record when it wrote it.',
    lacks: 'that there was none, or which text the person saw. One may have been published up to a second before.',
  },
  {
    name: 'administration/',
    isIn: ({ administration }) => administration.length > 0,
    shows:
      'who changed settings of the site, and the keys and users that changed the record, when, from what to what; each entry is in the log. Its digest is in "previous" of the next entry.',
    lacks:
      'entries of other sites, keys and users, and those that are newer than checkpoint.json, which are not in this folder. Of secrets it has only digests; e-mail addresses of users are in clear.',
  },
  {
    name: '(older entries of administration/)',
    isIn: (_, isTruncated) => isTruncated,
    shows: 'nothing: the newest 200 of these entries are in this folder, and the service left out older ones.',
    lacks: 'what the older ones say.',
  },
  {
    name: 'consent-keys.json, keys/',
    isIn: () => true,
    shows: 'the public keys of the service, as it published them when this folder was made.',
    lacks: 'that they are the keys of the service. Compare their ids with a copy that you got elsewhere.',
  },
  {
    name: 'pack.json',
    isIn: () => true,
    shows:
      'the service signed the list of these files, when it had verified them; nothing was changed, added or removed since.',
    lacks: 'what came after that time.',
  },
  {
    name: 'README.txt',
    isIn: () => true,
    shows: 'nothing by itself. It repeats what the other files say.',
    lacks: 'that it is true.',
  },
]

export function describeFiles(pack: Pack, isTruncated: boolean): FileWords[] {
  return words.filter(({ isIn }) => isIn(pack, isTruncated))
}
