import { useState } from 'preact/hooks'
import { api } from '../../../../../src/contract/api.ts'
import type { Consent } from '../../../../../src/contract/consents.ts'
import { toSource } from '../../../../../src/output/parts.ts'
import { visible } from '../../../../../src/output/safe.ts'
import { useAction } from '../../call.ts'
import { Command } from '../../parts/command.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { Field, Form, Select } from '../../parts/form.tsx'
import { Mistake } from '../../parts/problem.tsx'
import { client } from '../../session.ts'
import { changed, commandOf, type Edit, merge, requireNames } from './edits.ts'

interface ChangeProps {
  readonly record: Consent
  readonly onDone: (message: string) => void
  readonly onClose: () => void
}

/** Changes acceptance and preferences. Merges the edits into the record as it is when they are sent. */
export function Change({ record, onDone, onClose }: ChangeProps) {
  const shown = record.preferences ?? {}
  const names = Object.keys(shown)
  const [isAccepted, setAccepted] = useState(record.accepted)
  const [edits, setEdits] = useState<readonly Edit[]>(() =>
    Object.entries(shown).map(([name, value]) => ({ name, text: toSource(value) })),
  )
  const accepted = isAccepted === record.accepted ? undefined : isAccepted
  const set = (index: number, edit: Partial<Edit>) =>
    setEdits(edits.map((each, at) => (at === index ? { ...each, ...edit } : each)))
  const wanted = changed(shown, edits)
  const words = commandOf(record.id, shown, accepted, wanted)
  const action = useAction(async () => {
    requireNames(edits)
    if (accepted === undefined && wanted.length === 0) throw new Mistake('Nothing is changed yet.')
    const params = { id: record.id }
    const now = wanted.length > 0 ? (await client.call(api.consents.get, { params })).preferences : null
    const preferences = wanted.length > 0 ? merge(now ?? {}, wanted) : undefined
    await client.call(api.consents.update, { params, body: { accepted, preferences } })
    onDone('Changed.')
  })
  return (
    <Dialog title="Change the record" onClose={onClose}>
      <Form
        action={action}
        submit="Change"
        more={
          <button type="button" onClick={() => setEdits([...edits, { name: '', text: '' }])}>
            Add a preference
          </button>
        }
        onCancel={onClose}
      >
        <Select
          label="Accepted"
          value={String(isAccepted)}
          onValue={value => setAccepted(value === 'true')}
          options={answers}
        />
        {edits.map((edit, index) => (
          <Row
            key={index}
            edit={edit}
            isNew={index >= names.length}
            isBoolean={typeof shown[names[index] ?? ''] === 'boolean'}
            onEdit={change => set(index, change)}
          />
        ))}
      </Form>
      {words.length > 0 && <Command words={words} />}
    </Dialog>
  )
}

const answers = [
  ['true', 'yes'],
  ['false', 'no'],
] as const

const choices = [
  ['true', 'true'],
  ['false', 'false'],
  ['', 'remove'],
] as const

interface RowProps {
  readonly edit: Edit
  readonly isNew: boolean
  readonly isBoolean: boolean
  readonly onEdit: (change: Partial<Edit>) => void
}

function Row({ edit: { name, text }, isNew, isBoolean, onEdit }: RowProps) {
  if (isBoolean)
    return <Select label={visible(name)} value={text} onValue={value => onEdit({ text: value })} options={choices} />
  const value = (
    <Field
      label={isNew ? 'Value' : visible(name)}
      hint={isNew ? 'true, false, a number, other JSON, or a text' : 'Empty removes it.'}
      value={text}
      onValue={entered => onEdit({ text: entered })}
    />
  )
  if (!isNew) return value
  return (
    <fieldset>
      <legend>New preference</legend>
      <Field label="Name" value={name} onValue={entered => onEdit({ name: entered })} />
      {value}
    </fieldset>
  )
}
