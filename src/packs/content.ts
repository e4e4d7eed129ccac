import type { Consent, ConsistencyProof, History, InclusionProof } from '../contract/index.ts'
import type { Pack, ProvedEntry } from '../evidence/pack.ts'
import { proofOf } from '../evidence/pack-names.ts'

export type Collected = ReadonlyMap<string, string | Uint8Array>

type Entry = Omit<ProvedEntry, 'hash'>

export interface PackContent
  extends Pick<Pack, 'record' | 'history' | 'receipt' | 'checkpoint' | 'first' | 'last' | 'newer'> {
  readonly files: Pick<Collected, 'has'>
  readonly notice: (Entry & Pick<NonNullable<Pack['notice']>, 'manifest'>) | null
  /** Oldest first. */
  readonly administration: readonly Entry[]
}

/** Verifies nothing, not even the files' form. */
export function contentOf(files: Collected): PackContent {
  const read = <T>(name: string) => JSON.parse(String(files.get(name))) as T
  const optional = <T>(name: string) => (files.has(name) ? read<T>(name) : null)
  const entryOf = (file: string): Entry => ({ file, entry: read(file), proof: read<InclusionProof>(proofOf(file)) })
  const newer = optional<Pack['checkpoint']>('newer-checkpoint.json')
  const notice = files.has('notice.json') ? entryOf('notice.json') : null
  return {
    files,
    record: read<Consent>('record.json'),
    history: read<History>('history.json').data as unknown as Pack['history'],
    receipt: optional('receipt.json'),
    checkpoint: read('checkpoint.json'),
    first: read('record-first.inclusion.json'),
    last: read('record.inclusion.json'),
    newer: newer && { checkpoint: newer, proof: read<ConsistencyProof>('consistency.json') },
    notice: notice && { ...notice, manifest: manifestOf(notice.entry) },
    administration: [...files.keys()]
      .filter(name => /^administration\/\d+\.json$/.test(name))
      .map(entryOf)
      .sort((one, other) => one.entry.version - other.entry.version),
  }
}

export function manifestOf(entry: object): NonNullable<Pack['notice']>['manifest'] {
  return (entry as { after: NonNullable<Pack['notice']>['manifest'] }).after
}
