interface ButtonProps {
  readonly text: string
  readonly label?: string | undefined
  readonly kind?: 'primary' | 'small' | undefined
  /** `aria-disabled`, because a disabled button would lose the focus. */
  readonly isOff?: boolean
  readonly onClick: () => unknown
}

export function Button({ text, label, kind, isOff = false, onClick }: ButtonProps) {
  return (
    <button type="button" class={kind} aria-label={label} aria-disabled={isOff} onClick={() => isOff || onClick()}>
      {text}
    </button>
  )
}
