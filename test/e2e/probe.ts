import { Agent, request } from 'undici'

/** A question and its answer; times are `performance.now()`. */
export interface Sample {
  readonly at: number
  readonly ms: number
  /** 0 where no answer came. */
  readonly status: number
}

export interface Probe {
  readonly samples: Sample[]
  /** Asks no more, and resolves to everything when the last answer is there. */
  stop(): Promise<Sample[]>
}

/** Milliseconds between two questions. */
const interval = 50

/** Asks a URL at a steady pace, whether or not the questions before are answered. */
export function probe(url: string, headers: Record<string, string> = {}): Probe {
  const agent = new Agent({ headersTimeout: 15_000 })
  const samples: Sample[] = []
  const asking = new Set<Promise<void>>()
  const ask = async () => {
    const at = performance.now()
    let status = 0
    try {
      const { statusCode, body } = await request(url, { headers, dispatcher: agent })
      await body.dump()
      status = statusCode
    } catch {
      // No answer is what its status says.
    }
    samples.push({ at, ms: performance.now() - at, status })
  }
  const timer = setInterval(() => {
    const asked = ask().finally(() => asking.delete(asked))
    asking.add(asked)
  }, interval)
  return {
    samples,
    stop: async () => {
      clearInterval(timer)
      await Promise.all(asking)
      await agent.close()
      return samples
    },
  }
}

/** Milliseconds from an instant to the first answer after it that is wanted; infinite where none came. */
export function until(
  samples: readonly Sample[],
  since: number,
  isWanted: (status: number) => boolean,
): number {
  const ends = samples.filter(({ status }) => isWanted(status)).map(({ at, ms }) => at + ms - since)
  return ends.filter(end => end >= 0).reduce((one, other) => Math.min(one, other), Number.POSITIVE_INFINITY)
}

export function isSuccess(status: number): boolean {
  return status >= 200 && status < 300
}
