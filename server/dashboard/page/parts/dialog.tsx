import type { ComponentChildren } from 'preact'
import { useId, useLayoutEffect, useRef } from 'preact/hooks'

interface DialogProps {
  readonly title: string
  /** Called on Escape; without it, Escape does nothing. */
  readonly onClose?: () => void
  readonly isWide?: boolean
  readonly isOpaque?: boolean
  readonly children: ComponentChildren
}

/**
 * Opens a modal dialog before the next key press can reach the page. On unmount, the focus returns to where it was, or goes to
 * the screen's title.
 */
export function Dialog({ title, onClose, isWide, isOpaque, children }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null)
  const id = useId()
  useLayoutEffect(() => {
    const before = document.activeElement
    dialog.current?.showModal()
    return () => {
      // Waits for the page without the dialog: the earlier element may be gone, or another may have taken the focus.
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
      // Browsers close it at a second Escape, even if `cancel` was prevented.
      onClose={() => (onClose ? onClose() : dialog.current?.showModal())}
    >
      <h2 id={id}>{title}</h2>
      {children}
    </dialog>
  )
}
