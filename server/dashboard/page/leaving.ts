/** Lost by leaving the page now; null for nothing. */
let loss: string | null = null

function warn(event: BeforeUnloadEvent): void {
  event.preventDefault()
}

/** Lets the browser ask before the page is left. The text completes "If you leave now, …". */
export function warnOfLoss(text: string | null): void {
  loss = text
  removeEventListener('beforeunload', warn)
  if (text !== null) addEventListener('beforeunload', warn)
}

export function lossNow(): string | null {
  return loss
}

/** Asks the user if there is something to lose. */
export function mayLeave(): boolean {
  return loss === null || confirm(`If you leave now, ${loss}`)
}
