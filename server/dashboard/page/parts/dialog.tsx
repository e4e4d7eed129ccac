import type { ComponentChildren } from 'preact'
import { useId, useLayoutEffect, useRef } from 'preact/hooks'

interface DialogProps {
  readonly title: string
  /** Called when the user closes it by a button or Escape; without it nothing closes it. */
  readonly onClose?: () => void
  readonly isWide?: boolean
  /** True if nothing behind it may be seen. */
  readonly isOpaque?: boolean
  readonly children: ComponentChildren
}

/** A modal dialog, before the next key is pressed: the browser keeps the focus inside. At its end the focus is where it was, or at the title of the screen. */
export function Dialog({ title, onClose, isWide, isOpaque, children }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null)
  const id = useId()
  useLayoutEffect(() => {
    const before = document.activeElement
    dialog.current?.showModal()
    return () => {
      // After the page is as the dialog leaves it: what had the focus may be gone, or something new may have taken it.
      queueMicrotask(() => {
        if (document.activeElement !== document.body) return
        const isThere = before instanceof HTMLElement && before.isConnected && before !== document.body
        const target = isThere ? before : document.querySelector<HTMLElement>('h1')
        target?.focus()
      })
    }
  }, [])
  return (
    <dialog
      ref={dialog}
      aria-labelledby={id}
      class={`${isWide ? 'wide' : ''} ${isOpaque ? 'opaque' : ''}`.trim() || undefined}
      onCancel={event => {
        event.preventDefault()
        onClose?.()
      }}
      // Browsers close it at a second Escape, whatever the first one was answered with.
      onClose={() => (onClose ? onClose() : dialog.current?.showModal())}
    >
      <h2 id={id}>{title}</h2>
      {children}
    </dialog>
  )
}
