let loss: string | null = null

function warn(event: BeforeUnloadEvent): void {
  event.preventDefault()
}

/** Makes the browser ask before the page is left; null stops it. `text` completes "If you leave now, …". */
export function warnOfLoss(text: string | null): void {
  loss = text
  removeEventListener('beforeunload', warn)
  if (text !== null) addEventListener('beforeunload', warn)
}

export function lossNow(): string | null {
  return loss
}

export function mayLeave(): boolean {
  return loss === null || confirm(`If you leave now, ${loss}`)
}
