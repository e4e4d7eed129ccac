import { useEffect, useRef, useState } from 'preact/hooks'
import { useAction } from '../call.ts'
import { Button } from './button.tsx'
import { Problem } from './problem.tsx'

interface DownloadProps {
  readonly text: string
  readonly label?: string
  readonly kind?: 'small'
  readonly name: string
  readonly type?: string
  /** `requireShown` throws after the button has left the page, to stop a long read between its steps. */
  readonly read: (requireShown: () => void) => Promise<string | Uint8Array>
  readonly note?: string
}

/** Reads a file at a click, and saves it unless the button has left the page meanwhile. */
export function DownloadButton({ text, label, kind, name, type, read, note }: DownloadProps) {
  const [isDone, setDone] = useState(false)
  const isShown = useRef(true)
  useEffect(
    () => () => {
      isShown.current = false
    },
    [],
  )
  const requireShown = () => {
    if (!isShown.current) throw new Error('You left this screen before the request finished.')
  }
  const action = useAction(async () => {
    setDone(false)
    const content = await read(requireShown)
    requireShown()
    download(content, name, type)
    setDone(true)
  })
  return (
    <>
      <Button text={text} label={label} kind={kind} isOff={action.isRunning} onClick={action.run} />
      {note && <span role="status">{isDone && note}</span>}
      <Problem error={action.error} retry={action.run} />
    </>
  )
}

/** `name`: letters, digits, hyphens and dots only. */
export function download(content: string | Uint8Array, name: string, type = 'application/json'): void {
  const link = document.createElement('a')
  link.href = URL.createObjectURL(new Blob([content as BlobPart], { type }))
  link.download = name
  link.click()
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000)
}
