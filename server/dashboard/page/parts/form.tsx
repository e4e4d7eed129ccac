import { type ComponentChildren, createContext } from 'preact'
import { useContext, useId, useState } from 'preact/hooks'
import { visible } from '../../../../src/output/safe.ts'
import { useAction } from '../call.ts'
import { Button } from './button.tsx'
import { Mistake, Problem, rejectionOf } from './problem.tsx'

/** An API error; each field below shows the part about it. */
const FieldErrors = createContext<unknown>(undefined)

export interface FormProps {
  /** Its error is shown below the fields, and at the field concerned. */
  readonly run: () => Promise<void>
  /** An error shown elsewhere, such as in a filtered list, for the fields. */
  readonly error?: unknown
  readonly submit: string
  readonly isDangerous?: boolean
  readonly hasOwnWords?: boolean
  /** Shown on submit instead of running the action; empty if nothing is missing. */
  readonly missing?: string
  readonly children?: ComponentChildren
  readonly more?: ComponentChildren
  readonly onCancel?: () => void
}

export function Form({
  run,
  error,
  submit,
  isDangerous,
  missing = '',
  hasOwnWords = false,
  children,
  more,
  onCancel,
}: FormProps) {
  const action = useAction(run)
  const [isTold, setTold] = useState(false)
  return (
    <form
      noValidate
      autoComplete="off"
      onSubmit={event => {
        event.preventDefault()
        setTold(missing !== '')
        if (missing === '') action.run()
      }}
    >
      <FieldErrors.Provider value={action.error ?? error}>{children}</FieldErrors.Provider>
      <Problem error={isTold && missing ? new Mistake(missing) : action.error} hasOwnWords={hasOwnWords} />
      <p class="buttons">
        {/* A disabled one would lose the focus. */}
        <button
          type="submit"
          class={isDangerous ? 'danger' : 'primary'}
          aria-disabled={missing !== '' || action.isRunning}
        >
          {submit}
        </button>
        {more}
        {onCancel && <Button text="Cancel" onClick={onCancel} />}
      </p>
    </form>
  )
}

export function missingCount(typed: string, count: number): string {
  return typed.trim() === String(count) ? '' : `Type ${count} to confirm.`
}

interface FieldProps {
  readonly label: string
  readonly name?: string
  readonly hint?: ComponentChildren
  readonly value: string
  readonly onValue: (value: string) => void
  readonly type?: 'text' | 'email' | 'password' | 'number' | 'date' | 'datetime-local'
  readonly autoComplete?: string
  readonly isRequired?: boolean
  /** Rows of a text area. */
  readonly lines?: number
}

export function Field({
  label,
  name,
  hint,
  value,
  onValue,
  type = 'text',
  autoComplete = 'off',
  isRequired,
  lines,
}: FieldProps) {
  const id = useId()
  const wrong = rejectionOf(useContext(FieldErrors), name)
  const common = {
    id,
    name,
    value,
    autoComplete,
    required: isRequired,
    spellcheck: false,
    'aria-invalid': wrong ? true : undefined,
    'aria-describedby': wrong || hint ? `${id}-hint` : undefined,
    onInput: (event: { currentTarget: { value: string } }) => onValue(event.currentTarget.value),
  }
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {lines ? <textarea rows={lines} {...common} /> : <input {...common} {...({ type } as object)} />}
      {(wrong || hint) && (
        <small id={`${id}-hint`}>
          {wrong && <strong>{visible(wrong)}</strong>} {hint}
        </small>
      )}
    </div>
  )
}

interface SelectProps<Value extends string> {
  readonly label: string
  readonly name?: string
  readonly value: Value
  readonly onValue: (value: Value) => void
  readonly options: readonly (readonly [value: Value, text: string])[]
}

export function Select<Value extends string>({ label, name, value, onValue, options }: SelectProps<Value>) {
  const id = useId()
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <select id={id} name={name} value={value} onChange={event => onValue(event.currentTarget.value as Value)}>
        {options.map(([each, text]) => (
          <option value={each} key={each}>
            {text}
          </option>
        ))}
      </select>
    </div>
  )
}

interface CheckProps {
  readonly label: string
  readonly name?: string
  readonly value: boolean
  readonly onValue: (value: boolean) => void
}

export function Check({ label, name, value, onValue }: CheckProps) {
  return (
    <label class="check">
      <input type="checkbox" name={name} checked={value} onChange={event => onValue(event.currentTarget.checked)} />{' '}
      {label}
    </label>
  )
}

interface ChecksProps<Value extends string> {
  readonly legend: string
  readonly options: readonly (readonly [value: Value, text: string])[]
  readonly chosen: readonly Value[]
  /** In the order of `options`. */
  readonly onChosen: (chosen: readonly Value[]) => void
}

export function Checks<Value extends string>({ legend, options, chosen, onChosen }: ChecksProps<Value>) {
  const choose = (value: Value, isChosen: boolean) =>
    onChosen(options.map(([each]) => each).filter(each => (each === value ? isChosen : chosen.includes(each))))
  return (
    <fieldset>
      <legend>{legend}</legend>
      {options.map(([value, text]) => (
        <Check key={value} label={text} value={chosen.includes(value)} onValue={isChosen => choose(value, isChosen)} />
      ))}
    </fieldset>
  )
}

type Values = Readonly<Record<string, string | boolean>>

/** Keeps text that is not a whole number, so that the service rejects it. */
export function toNumber(text: string): number {
  return /^\d{1,15}$/.test(text.trim()) ? Number(text) : (text as unknown as number)
}

/** Returns a function that maps a field's name, or its name in the API's errors, to the field's properties. */
export function fieldsOf<T extends Values>(values: T, set: (values: T) => void) {
  return <Name extends keyof T & string>(name: Name) => ({
    name,
    value: values[name],
    onValue: (value: T[Name]) => set({ ...values, [name]: value }),
  })
}
