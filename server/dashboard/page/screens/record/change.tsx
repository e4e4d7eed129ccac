import { useState } from 'preact/hooks'
import { api } from '../../../../../src/contract/api.ts'
import { isJson, toSource } from '../../../../../src/output/parts.ts'
import { visible } from '../../../../../src/output/safe.ts'
import { Button } from '../../parts/button.tsx'
import { options } from '../../parts/command.tsx'
import { FormDialog } from '../../parts/dialog.tsx'
import { Field, Select } from '../../parts/form.tsx'
import { Mistake } from '../../parts/problem.tsx'
import { client } from '../../session.ts'
import type { QuestionProps } from './removal.tsx'

/** Merges the edits into the record as it is when they are sent. */
export function Change({ record, onDone, onClose }: QuestionProps) {
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
  const run = async () => {
    requireNames(edits)
    if (accepted === undefined && wanted.length === 0) throw new Mistake('Nothing is changed yet.')
    const params = { id: record.id }
    const now = wanted.length > 0 ? (await client.call(api.consents.get, { params })).preferences : null
    const preferences = wanted.length > 0 ? merge(now ?? {}, wanted) : undefined
    await client.call(api.consents.update, { params, body: { accepted, preferences } })
    onDone('Changed.')
  }
  return (
    <FormDialog
      title="Change the record"
      onClose={onClose}
      run={run}
      submit="Change"
      more={<Button text="Add a preference" onClick={() => setEdits([...edits, { name: '', text: '' }])} />}
      command={commandOf(record.id, shown, accepted, wanted)}
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
    </FormDialog>
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

type Values = Readonly<Record<string, unknown>>

interface Edit {
  readonly name: string
  /** JSON or plain text; empty removes the preference. */
  readonly text: string
}

/** Reads JSON as its type and other text as a string, as `--pref` does. @throws Mistake for JSON such as 1.0, stored as 1 */
function valueIn({ name, text }: Edit): unknown {
  if (!isJson(text)) return text
  const value = JSON.parse(text)
  const kept = JSON.stringify(value)
  if (withoutBlanks(kept) === withoutBlanks(text)) return value
  throw new Mistake(`${name}: the value would be kept as ${kept}. Write it so, or in quotes.`)
}

function withoutBlanks(text: string): string {
  return text.replace(/\s/g, '')
}

/** @throws Mistake for a name that is missing, repeated or `__proto__` */
function requireNames(edits: readonly Edit[]): void {
  for (const [index, { name, text }] of edits.entries()) {
    if (name === '' && text !== '') throw new Mistake('A preference has no name.')
    if (name === '__proto__') throw new Mistake('A preference cannot be named __proto__.')
    if (name !== '' && edits.findIndex(other => other.name === name) < index)
      throw new Mistake(`The preference ${name} is there twice.`)
  }
}

function changed(shown: Values, edits: readonly Edit[]): Edit[] {
  return edits.filter(
    ({ name, text }) => name !== '' && text !== (Object.hasOwn(shown, name) ? toSource(shown[name]) : ''),
  )
}

/** Merges edits into the current preferences. @throws Mistake as `valueIn` */
function merge(now: Values, edits: readonly Edit[]): Values {
  const removed = new Set(edits.filter(({ text }) => text === '').map(({ name }) => name))
  const kept = Object.entries(now).filter(([name]) => !removed.has(name))
  const set = edits.filter(({ text }) => text !== '').map(edit => [edit.name, valueIn(edit)])
  return Object.fromEntries([...kept, ...set])
}

/** Returns none if no command makes the change. A removal must repeat the preferences that stay. */
function commandOf(id: string, shown: Values, accepted: boolean | undefined, edits: readonly Edit[]): string[] {
  const isRemoval = edits.some(({ text }) => text === '')
  const kept = isRemoval ? Object.entries(shown).map(([name, value]) => ({ name, text: toSource(value) })) : []
  const unedited = kept.filter(({ name }) => edits.every(edit => edit.name !== name))
  const given = [...unedited, ...edits].filter(({ text }) => text !== '')
  const isNothing = accepted === undefined && given.length === 0
  if (isNothing || (isRemoval && given.length === 0) || given.some(({ name }) => name.includes('='))) return []
  const pref = given.map(({ name, text }) => `${name}=${text}`)
  const flags = { accepted: accepted === true, refused: accepted === false }
  return ['update', id, ...options({ ...flags, pref, 'replace-preferences': isRemoval })]
}
