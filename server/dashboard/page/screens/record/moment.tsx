import { parseInstant } from '../../../../../src/contract/instant.ts'
import { momentOf } from '../../../../../src/domain/moment.ts'
import { visible } from '../../../../../src/output/safe.ts'
import { Consented, Preferences } from '../../parts/preferences.tsx'
import { Details } from '../../parts/table.tsx'
import { formatTime, Time } from '../../parts/text.tsx'
import type { Facts } from './facts.ts'

interface MomentProps {
  readonly facts: Facts
  /** RFC 3339; null until an entry of the history is chosen. */
  readonly at: string | null
}

export function StateAt({ facts, at }: MomentProps) {
  return (
    <section aria-labelledby="moment">
      <h2 id="moment" tabIndex={-1}>
        At a moment
      </h2>
      <div class="moment" role="status">
        {at === null ? <p class="hint">Choose an entry of the history.</p> : <Shown facts={facts} at={at} />}
      </div>
    </section>
  )
}

function Shown({ facts: { record, history }, at }: { readonly facts: Facts; readonly at: string }) {
  const moment = momentOf(record.id, record, history.data, { instant: parseInstant(at) ?? 0, includeDeleted: true })
  if (!('row' in moment)) return <p>{`No record at ${formatTime(at)}: ${visible(moment.why)}`}</p>
  const { row, word, notes } = moment
  return (
    <>
      <p>
        <strong>{formatTime(at)}</strong>
        {word === 'importer' && ', as reported by the importer'}
      </p>
      {notes.map(note => (
        <p class="hint" key={note}>
          {visible(note)}
        </p>
      ))}
      <Details
        of={{
          Consent: <Consented of={row} />,
          Preferences: <Preferences of={row.preferences} />,
          'Policy version': row.policy_version ?? '',
          'Changed last': <Time at={row.updated_at} />,
          'Answered, as imported': row.given_at && <Time at={row.given_at} />,
          Deleted: row.deleted_at && <Time at={row.deleted_at} />,
        }}
      />
    </>
  )
}
