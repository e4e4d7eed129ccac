import type { Pages } from '../pages.ts'

interface PagerProps {
  readonly pages: Pages
  /** Null on the last page. */
  readonly next: string | null
  readonly isLoading: boolean
}

/** Uses `aria-disabled`, so that the buttons keep the focus while a page loads. */
export function Pager({ pages: { number, goBack, goOn }, next, isLoading }: PagerProps) {
  if (!goBack && next === null) return null
  return (
    <nav class="buttons" aria-label="Pages">
      <button type="button" aria-disabled={!goBack || isLoading} onClick={() => !isLoading && goBack?.()}>
        Newer
      </button>
      <button
        type="button"
        aria-disabled={next === null || isLoading}
        onClick={() => !isLoading && next !== null && goOn(next)}
      >
        Older
      </button>
      <span role="status" class="hint">
        {isLoading ? 'Loading …' : `Page ${number}`}
      </span>
    </nav>
  )
}
