import type { Context } from '../../../context.ts'

export interface Counts {
  /** Lines that were sent in this run, whatever became of them. */
  readonly sent: number
  readonly failed: number
  /** Lines that are still to be sent; null where nobody knows. */
  readonly left: number | null
}

/** How far a long piece of work is, told on stderr. */
export interface Progress {
  /** Keeps the line off the terminal while something else is written there. */
  hide(): Promise<void>
  show(): void
  end(): Promise<void>
}

/** On a terminal a line that is drawn anew, after 300 ms; elsewhere one every ten seconds; none with --quiet. */
export function showProgress(ctx: Context, counts: () => Counts): Progress {
  const start = Date.now()
  const { err } = ctx.io
  let [isDrawn, isHidden] = [false, false]
  const hide = async () => {
    isHidden = true
    if (isDrawn) await err.write('\r\u001b[2K')
    isDrawn = false
  }
  const tell = () => {
    const text = toText(counts(), (Date.now() - start) / 1000)
    if (!err.isTerminal) return void ctx.say(text).catch(() => {})
    if (isHidden) return
    isDrawn = true
    void err.write(`\r\u001b[2K${text.slice(0, err.columns - 1)}`).catch(() => {})
  }
  const timer = ctx.globals.quiet ? undefined : setInterval(tell, err.isTerminal ? 300 : 10_000)
  return {
    hide,
    show: () => {
      isHidden = false
    },
    end: async () => {
      clearInterval(timer)
      await hide()
    },
  }
}

function toText({ sent, failed, left }: Counts, seconds: number): string {
  const rate = sent / Math.max(seconds, 0.001)
  const rest = left === null || rate === 0 ? '' : `, about ${duration(left / rate)} left`
  const of = left === null ? '' : ` of ${sent + left}`
  return `${sent}${of} lines sent, ${failed} failed, ${Math.round(rate)}/s${rest}`
}

function duration(seconds: number): string {
  if (seconds < 90) return `${Math.ceil(seconds)} s`
  return seconds < 5400 ? `${Math.ceil(seconds / 60)} min` : `${(seconds / 3600).toFixed(1)} h`
}
