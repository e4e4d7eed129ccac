// The barest export: follows next_cursor with one connection and writes each record as a line.
import { once } from 'node:events'
import { Client } from 'undici'
import { ask } from './load.ts'

const [url = '', key = '', filters = ''] = process.argv.slice(2)
const client = new Client(url)
let cursor: string | null = ''
while (cursor !== null) {
  const query = `limit=100${filters && `&${filters}`}${cursor && `&cursor=${cursor}`}`
  const headers = { authorization: `Bearer ${key}` }
  const answer = await ask(client, headers, { method: 'GET', path: `/api/v1/consents?${query}` })
  const page = JSON.parse(answer.toString()) as { data: object[]; next_cursor: string | null }
  const text = page.data.map(record => `${JSON.stringify(record)}\n`).join('')
  if (!process.stdout.write(text)) await once(process.stdout, 'drain')
  cursor = page.next_cursor
}
await client.close()
