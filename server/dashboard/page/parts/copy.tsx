import { useState } from 'preact/hooks'

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
      <button type="button" class="small" aria-label={label} onClick={copy}>
        Copy
      </button>
      <span role="status" class="hint">
        {result}
      </span>
    </>
  )
}
