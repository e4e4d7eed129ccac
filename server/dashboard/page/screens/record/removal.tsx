import { useState } from 'preact/hooks'
import { api } from '../../../../../src/contract/api.ts'
import type { Consent } from '../../../../../src/contract/consents.ts'
import { options } from '../../parts/command.tsx'
import { FormDialog } from '../../parts/dialog.tsx'
import { Check } from '../../parts/form.tsx'
import { Id, Text } from '../../parts/text.tsx'
import { client } from '../../session.ts'

export interface QuestionProps {
  readonly record: Consent
  readonly onDone: (message: string) => void
  readonly onClose: () => void
}

function Which({ record: { id, subject_id } }: Pick<QuestionProps, 'record'>) {
  return (
    <p>
      <Id of={id} />, subject <Text of={subject_id} />
    </p>
  )
}

export function Delete({ record, onDone, onClose }: QuestionProps) {
  const { id } = record
  const run = async () => {
    await client.call(api.consents.remove, { params: { id } })
    onDone('Deleted.')
  }
  return (
    <FormDialog
      title="Delete this record?"
      onClose={onClose}
      run={run}
      submit="Delete"
      isDangerous
      command={['rm', id]}
    >
      <Which record={record} />
      <p>
        A deleted record is in lists only with deleted ones; its history stays. It can be restored until its personal
        data is purged (by default 30 days after the deletion). This is no erasure of the person: their other records
        stay.
      </p>
    </FormDialog>
  )
}

export function Restore({ record, onDone, onClose }: QuestionProps) {
  const { id } = record
  const [isDespite, setDespite] = useState(false)
  const run = async () => {
    await client.call(api.consents.restore, { params: { id }, body: isDespite ? { despite_erasure: true } : {} })
    onDone('Restored.')
  }
  return (
    <FormDialog
      title="Restore this record?"
      onClose={onClose}
      run={run}
      submit="Restore"
      command={['restore', id, ...options({ 'despite-erasure': isDespite })]}
    >
      <Which record={record} />
      <p>Its history keeps the deletion and the restore. Retention counts from the restore.</p>
      <Check
        label="Also if an erasure request covers it, which its history shows from then on. A person who asked for erasure must not come back by mistake."
        value={isDespite}
        onValue={setDespite}
      />
    </FormDialog>
  )
}
