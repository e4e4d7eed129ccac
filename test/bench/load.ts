import { Client } from 'undici'

/** What a request of a load is. */
export interface Shot {
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly body?: string
}

export type Headers = Record<string, string>

/** Number of answers while this many connections asked one thing after the other. */
export interface Load {
  readonly answers: number
  readonly seconds: number
}

/** Asks for this many milliseconds. Throws on an answer that is no success. */
export async function load(
  url: string,
  headers: Headers,
  next: () => Shot,
  { connections, milliseconds }: { readonly connections: number; readonly milliseconds: number },
): Promise<Load> {
  let answers = 0
  const start = performance.now()
  const work = async () => {
    const client = new Client(url)
    while (performance.now() < start + milliseconds) {
      await ask(client, headers, next())
      answers += 1
    }
    await client.close()
  }
  await Promise.all(Array.from({ length: connections }, work))
  return { answers, seconds: (performance.now() - start) / 1000 }
}

/** Sends a request and reads its answer whole. Throws where that is no success. */
export async function ask(client: Client, headers: Headers, { method, path, body }: Shot): Promise<Buffer> {
  const answer = await client.request({ method, path, headers, ...(body === undefined ? {} : { body }) })
  const chunks: Buffer[] = []
  for await (const chunk of answer.body) chunks.push(chunk as Buffer)
  const all = Buffer.concat(chunks)
  if (answer.statusCode >= 300) throw new Error(`${method} ${path}: ${answer.statusCode} ${all}`)
  return all
}
