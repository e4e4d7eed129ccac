import { useState } from 'preact/hooks'
import { parseInstant } from '../../../../../src/contract/instant.ts'
import { type Moment, momentOf } from '../../../../../src/domain/moment.ts'
import { visible } from '../../../../../src/output/safe.ts'
import { useAction } from '../../call.ts'
import { Field, Form } from '../../parts/form.tsx'
import { Consented, Preferences } from '../../parts/preferences.tsx'
import { Mistake } from '../../parts/problem.tsx'
import { Details } from '../../parts/table.tsx'
import { formatTime, Time } from '../../parts/text.tsx'
import type { Facts } from './facts.ts'

interface MomentProps {
  readonly facts: Facts
  /** RFC 3339. */
  readonly at: string | null
  readonly onMoment: (at: string) => void
}

export function StateAt({ facts, at, onMoment }: MomentProps) {
  const [text, setText] = useState('')
  const action = useAction(async () => onMoment(pastMinute(text, Date.now())))
  return (
    <section aria-labelledby="moment">
      <h2 id="moment" tabIndex={-1}>
        At a moment
      </h2>
      <Form action={action} submit="Show the record then">
        <Field
          label="Time (UTC)"
          hint="A minute includes its last millisecond."
          type="datetime-local"
          value={text}
          onValue={setText}
        />
      </Form>
      {at !== null && <Shown facts={facts} at={at} />}
    </section>
  )
}

function Shown({ facts: { record, history }, at }: { readonly facts: Facts; readonly at: string }) {
  const moment = momentOf(record.id, record, history.data, { instant: parseInstant(at) ?? 0, includeDeleted: true })
  return (
    <div class="moment" role="status">
      {'row' in moment ? (
        <Row moment={moment} at={at} />
      ) : (
        <p>{`No record at ${formatTime(at)}: ${visible(moment.why)}`}</p>
      )}
    </div>
  )
}

function Row({
  moment: { row, word, notes },
  at,
}: {
  readonly moment: Extract<Moment, { row: unknown }>
  readonly at: string
}) {
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

/**
 * Returns the last millisecond of a `datetime-local` minute in UTC, or `now` within the present minute. @throws Mistake for a
 * future time
 */
function pastMinute(text: string, now: number): string {
  const start = parseInstant(`${text}:00Z`)
  if (start === null) throw new Mistake('Enter a date and a time.')
  if (start > now) throw new Mistake('That is in the future.')
  return new Date(Math.min(start + 59_999, now)).toISOString()
}
