// The barest import: sends each line of a file as it is, with the given concurrency, and writes the ids. With `keys` each goes
// with an Idempotency-Key, as a client does that must be able to send it again.
import { createReadStream } from 'node:fs'
import { createInterface } from 'node:readline'
import { Client } from 'undici'
import { ask } from './load.ts'

const [url = '', key = '', file = '', atOnce = '8', hasKeys] = process.argv.slice(2)
const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
const lines = createInterface({ input: createReadStream(file) })[Symbol.asyncIterator]()
const work = async () => {
  const client = new Client(url)
  for (let next = await lines.next(); !next.done; next = await lines.next()) {
    const own = hasKeys === 'keys' ? { ...headers, 'idempotency-key': crypto.randomUUID() } : headers
    const answer = await ask(client, own, { method: 'POST', path: '/api/v1/consents', body: next.value })
    process.stdout.write(`${(JSON.parse(answer.toString()) as { id: string }).id}\n`)
  }
  await client.close()
}
await Promise.all(Array.from({ length: Number(atOnce) }, work))
