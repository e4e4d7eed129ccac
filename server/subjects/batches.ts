import type { BatchLink } from '../consents/rows.ts'
import { bisect } from '../db/bisect.ts'

interface Identified {
  readonly id: string
}

/** Shared by the retries of a request, so that the response lists all changes. */
export interface Written<Link extends BatchLink, Row extends Identified> {
  readonly rows: Map<string, Row>
  /** Batches that may have been written. */
  readonly unanswered: Set<readonly Link[]>
  readonly skipped: Set<string>
  readonly onSkipped: (error: unknown) => void
}

export function newWritten<Link extends BatchLink, Row extends Identified>(
  onSkipped: (error: unknown) => void = () => {},
): Written<Link, Row> {
  return { rows: new Map(), unanswered: new Set(), skipped: new Set(), onSkipped }
}

interface Batches<Found extends Identified, Link, Row> {
  /** Deadline (`performance.now()`). */
  readonly until: number
  /** Maximum number of rows. */
  readonly limit: number
  find(limit: number): Promise<readonly Found[]>
  link(found: readonly Found[]): Promise<readonly Link[]>
  /** Returns those that had not changed since they were found. */
  write(links: readonly Link[]): Promise<readonly Row[]>
}

const batchSize = 200

/** Finds and writes until nothing is found, the limit is reached, or the time is over. */
export async function writeInBatches<Found extends Identified, Link extends BatchLink, Row extends Identified>(
  { rows, unanswered, skipped, onSkipped }: Written<Link, Row>,
  { until, limit, find, link, write }: Batches<Found, Link, Row>,
): Promise<void> {
  const writeBatch = async (found: readonly Found[]) => {
    const links = await link(found)
    unanswered.add(links)
    const written = await write(links)
    unanswered.delete(links)
    for (const row of written) rows.set(row.id, row)
  }
  // A change that may have been written also counts.
  const room = () => limit - rows.size - [...unanswered].reduce((sum, links) => sum + links.length, 0)
  while (performance.now() < until && room() > 0) {
    const found = await find(Math.min(batchSize, room()))
    if (found.length === 0) break
    await bisect(found, writeBatch, (id, error) => {
      skipped.add(id)
      onSkipped(error)
    })
  }
}
