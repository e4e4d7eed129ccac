import type { ComponentChildren } from 'preact'
import { useEffect, useId, useRef } from 'preact/hooks'

interface DialogProps {
  readonly title: string
  /** Called when the user closes it by a button or Escape; without it nothing closes it. */
  readonly onClose?: () => void
  readonly children: ComponentChildren
}

/** A modal dialog: the browser keeps the focus inside, and gives it back. */
export function Dialog({ title, onClose, children }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null)
  const id = useId()
  useEffect(() => {
    const before = document.activeElement
    dialog.current?.showModal()
    return () => before instanceof HTMLElement && before.focus()
  }, [])
  return (
    <dialog
      ref={dialog}
      aria-labelledby={id}
      onCancel={event => {
        event.preventDefault()
        onClose?.()
      }}
    >
      <h2 id={id}>{title}</h2>
      {children}
    </dialog>
  )
}
