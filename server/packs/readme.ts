import type { Pack } from '../../src/evidence/pack.ts'

/** What each file of a pack shows and lacks. The page for people is `certificate.html`. */
export function formatReadme(pack: Pack, { isTruncated }: { readonly isTruncated: boolean }): string {
  return [
    'EVIDENCE OF A CONSENT RECORD',
    `certificate.html says what this folder is evidence of: open it in a browser, or print it. The folder can be checked
without the service that made it and without a network:`,
    `  consentctl verify THIS-FOLDER --keys KEYS\n  sh verify.sh`,
    `KEYS is a copy of consent-keys.json that you got from the operator of the service early, and not with this folder.
Without it the keys of this folder are used, which anyone could have put here who could make all of it. The format is
described in the source of the program (src/evidence/README.md), for other programs to be written from.`,
    'THE FILES: WHAT EACH SHOWS, AND WHAT IT DOES NOT',
    ...describeFiles(pack, isTruncated).map(
      ({ name, shows, lacks }) => `  ${name}\n${wrap(`shows: ${shows}`)}\n${wrap(`does not show: ${lacks}`)}`,
    ),
  ]
    .join('\n\n')
    .concat('\n')
}

function wrap(sentence: string, indent = '   '): string {
  return (sentence.match(/.{1,110}(?= |$)/g) ?? []).map(line => `${indent}${line.trim()}`).join('\n')
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
    name: '(sealed proof)',
    isIn: ({ history }) => history.some(({ sealed }) => sealed?.answers),
    shows:
      'what was answered for each purpose. The purge kept a keyed hash of the identifier with it, and the service signed in pack.json that it equals that of the identifier which was presented.',
    lacks:
      'by itself whose the answers are: only the service, which has the key of that hash, can compare an identifier.',
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
    name: '(circumstances)',
    isIn: ({ history }) => history.some(({ circumstances }) => circumstances),
    shows: 'how the answers that say so were given, as their sender told the service with them.',
    lacks: 'that it was so: the service saw none of it. Ask the sender for the original.',
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
    name: 'certificate.html, README.txt',
    isIn: () => true,
    shows: 'nothing by themselves. They repeat what the other files say.',
    lacks: 'that it is true.',
  },
  {
    name: 'verify.sh',
    isIn: () => true,
    shows:
      'by sha256sum and openssl (3.0 or newer) that the signatures are of the keys in keys/, that no file which pack.json lists was changed, and that the log has the entries.',
    lacks:
      'that no file was added, the hashes of history.json from what it says, and the order of the leaves: consentctl does. Whoever changed the other files could change it too: read it before you run it.',
  },
]

function describeFiles(pack: Pack, isTruncated: boolean): FileWords[] {
  return words.filter(({ isIn }) => isIn(pack, isTruncated))
}

function isPurged({ history }: Pack): boolean {
  return history.some(({ action }) => action === 'purged')
}
