import type { Sql } from 'postgres'

/** Of the whole database. */
export interface Facts {
  /** Open requests of the register whose last day is over. */
  readonly overdue: number
  /** Unix times in seconds; null before the first. */
  readonly checkpointAt: number | null
  readonly verifiedAt: number | null
  readonly findings: number | null
  readonly failingWebhooks: number
}

export async function readFacts(sql: Sql): Promise<Facts> {
  const [row] = await sql<Facts[]>`
    select (select count(*)::integer from subject_requests
        where state <> 'closed' and due_on < ${new Date().toISOString().slice(0, 10)}::date) as overdue,
      (select count(*)::integer from webhooks
        where failing_since is not null or paused_at is not null) as "failingWebhooks",
      (select extract(epoch from max(created_at))::float8 from checkpoints) as "checkpointAt",
      (select extract(epoch from finished_at)::float8 from verifications where scope = 'all') as "verifiedAt",
      (select findings from verifications where scope = 'all') as findings`
  return row ?? { overdue: 0, checkpointAt: null, verifiedAt: null, findings: null, failingWebhooks: 0 }
}
