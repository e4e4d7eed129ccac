import { setTimeout as delay } from 'node:timers/promises'
import { Agent, request } from 'undici'

/** What clients know of their writes: begun, answered with 201, and of the others nothing. */
export interface Ledger {
  readonly invoked: Set<string>
  readonly acknowledged: Map<string, string>
}

export interface Target {
  url: string
  readonly key: string
  readonly siteId: string
}

/**
 * Clients that create records, each with a label of its own, until `stop` is true; a lost answer is neither success nor
 * failure. They go on over restarts of the server.
 */
export async function write(
  target: Target,
  ledger: Ledger,
  clients: number,
  stop: () => boolean,
): Promise<void> {
  const agent = new Agent({ connections: clients })
  const client = async (number: number) => {
    for (let count = 0; !stop(); count += 1) {
      const label = `${number}-${count}`
      ledger.invoked.add(label)
      try {
        const answer = await request(`${target.url}/api/v1/consents`, {
          method: 'POST',
          dispatcher: agent,
          headers: { authorization: `Bearer ${target.key}`, 'content-type': 'application/json' },
          body: JSON.stringify({ site_id: target.siteId, consent_id: label, accepted: count % 2 === 0 }),
        })
        const body = (await answer.body.json()) as { id: string }
        if (answer.statusCode === 201) ledger.acknowledged.set(label, body.id)
      } catch {
        await delay(20)
      }
    }
  }
  await Promise.all(Array.from({ length: clients }, (_, number) => client(number)))
  await agent.close()
}
