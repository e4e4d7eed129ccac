import type { Consent, History, InclusionProof } from '../contract/index.ts'
import type { Pack, ProvedEntry } from '../evidence/pack.ts'
import {
  administrationEntry,
  betweenProof,
  consistencyOf,
  earlierCheckpoint,
  listNames,
  proofOf,
} from '../evidence/pack-names.ts'

export type Collected = ReadonlyMap<string, string | Uint8Array>

type Entry = Omit<ProvedEntry, 'hash'>

export interface PackContent
  extends Pick<Pack, 'record' | 'history' | 'receipt' | 'checkpoint' | 'first' | 'last' | 'between' | 'checkpoints'> {
  readonly files: Pick<Collected, 'has' | 'keys'>
  readonly notice: (Entry & Pick<NonNullable<Pack['notice']>, 'manifest'>) | null
  /** Oldest first. */
  readonly administration: readonly Entry[]
}

/** Verifies nothing. */
export function contentOf(files: Collected): PackContent {
  const read = <T>(name: string) => JSON.parse(String(files.get(name))) as T
  const optional = <T>(name: string) => (files.has(name) ? read<T>(name) : null)
  const entryOf = (file: string): Entry => ({ file, entry: read(file), proof: read<InclusionProof>(proofOf(file)) })
  const notice = files.has('notice.json') ? entryOf('notice.json') : null
  return {
    files,
    record: read<Consent>('record.json'),
    history: read<History>('history.json').data as unknown as Pack['history'],
    receipt: optional('receipt.json'),
    checkpoint: read('checkpoint.json'),
    first: read('record-first.inclusion.json'),
    last: read('record.inclusion.json'),
    between: listNames(files, betweenProof).map(name => read(name)),
    checkpoints: listNames(files, earlierCheckpoint).map(file => ({
      file,
      checkpoint: read(file),
      proof: read(consistencyOf(file)),
    })),
    notice: notice && { ...notice, manifest: manifestOf(notice.entry) },
    administration: listNames(files, administrationEntry).map(entryOf),
  }
}

export function manifestOf(entry: object): NonNullable<Pack['notice']>['manifest'] {
  return (entry as { after: NonNullable<Pack['notice']>['manifest'] }).after
}
