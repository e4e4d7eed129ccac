import { useState } from 'preact/hooks'
import { visible } from '../../../../src/output/safe.ts'
import { Button } from './button.tsx'

interface CommandProps {
  readonly words: readonly string[]
  readonly label?: string
}

/** Quoted for a POSIX shell. */
export function Command({ words, label = 'The same in a terminal' }: CommandProps) {
  const text = ['consentctl', ...words].map(quote).join(' ')
  const shown = visible(text)
  return (
    <p class="command">
      <span class="hint">{label}</span>
      <code>{shown}</code>
      {shown === text ? (
        <Copy text={text} label="Copy the command" />
      ) : (
        <small>do not paste into a terminal: it has invisible characters</small>
      )}
    </p>
  )
}

export function Copy({ text, label }: { readonly text: string; readonly label: string }) {
  const [result, setResult] = useState('')
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text)
      setResult('Copied')
    } catch {
      setResult('Cannot copy: select the text')
    }
  }
  return (
    <>
      <Button text="Copy" label={label} kind="small" onClick={copy} />
      <span role="status" class="hint">
        {result}
      </span>
    </>
  )
}

type Value = string | boolean | null | undefined

/** Returns nothing for an empty value. A value that starts with a hyphen is written as `--name=value`. */
export function options(values: Readonly<Record<string, Value | readonly string[]>>): string[] {
  return Object.entries(values).flatMap(([name, value]) => {
    const all: readonly Value[] = Array.isArray(value) ? value : [value as Value]
    return all.flatMap(each => {
      if (!each) return []
      if (each === true) return [`--${name}`]
      return each.startsWith('-') ? [`--${name}=${each}`] : [`--${name}`, each]
    })
  })
}

function quote(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`
}
