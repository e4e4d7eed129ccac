import type { ComponentChildren } from 'preact'
import { useId, useLayoutEffect, useRef } from 'preact/hooks'
import { Command } from './command.tsx'
import { Form, type FormProps } from './form.tsx'

interface DialogProps {
  readonly title: string
  /** Called on Escape; without it, Escape does nothing. */
  readonly onClose?: () => void
  readonly isOpaque?: boolean
  readonly children: ComponentChildren
}

/**
 * Opens a modal dialog before the next key press can reach the page. On unmount, the focus returns to where it was, or goes to
 * the screen's title.
 */
export function Dialog({ title, onClose, isOpaque, children }: DialogProps) {
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
      class={isOpaque ? 'opaque' : undefined}
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

interface FormDialogProps extends Omit<FormProps, 'onCancel'> {
  readonly title: string
  readonly onClose: () => void
  readonly command?: readonly string[]
}

export function FormDialog({ title, onClose, command = [], ...form }: FormDialogProps) {
  return (
    <Dialog title={title} onClose={onClose}>
      <Form {...form} onCancel={onClose} />
      {command.length > 0 && <Command words={command} />}
    </Dialog>
  )
}
