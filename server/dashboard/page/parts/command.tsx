import { visible } from '../../../../src/output/safe.ts'
import { Copy } from './copy.tsx'

interface CommandProps {
  readonly words: readonly string[]
  readonly label?: string
}

/** Shows the equivalent command, quoted for a POSIX shell. */
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
        <small>not to be pasted into a terminal: it has characters that are not seen</small>
      )}
    </p>
  )
}

/** Returns `--name value`, `--name=value` if the value starts with a hyphen, or nothing for an empty value. */
export function option(name: string, value: string | null | undefined): string[] {
  if (!value) return []
  return value.startsWith('-') ? [`--${name}=${value}`] : [`--${name}`, value]
}

function quote(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`
}
