import { connect } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'

/** Enough for a response to the first piece. */
const pauseMs = 100

export interface RawResponse {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly text: string
}

/**
 * Sends bytes over one connection, or pieces with a pause between them, and reads every response until the server closes it. `fin`
 * half-closes the connection after the bytes. In a string each character is a byte. Rejects if the server leaves the connection
 * open for `timeoutMs`, unless it `mayWait` for more.
 */
export async function converse(
  url: string,
  bytes: string | Buffer | string[],
  options: { fin?: boolean; timeoutMs?: number; mayWait?: boolean } = {},
): Promise<RawResponse[]> {
  const { fin = false, timeoutMs = 5000, mayWait = false } = options
  const { hostname, port } = new URL(url)
  const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: fin })
  const chunks: Buffer[] = []
  let isLate = false
  socket.on('data', chunk => chunks.push(chunk))
  socket.on('end', () => socket.end())
  socket.on('error', () => {}) // a reset after the answers is as good as an end
  socket.setTimeout(timeoutMs, () => {
    isLate = true
    socket.destroy()
  })
  const closed = new Promise(resolve => socket.once('close', resolve)) // events.once would reject at the error
  for (const [index, piece] of (Array.isArray(bytes) ? bytes : [bytes]).entries()) {
    if (index > 0) await delay(pauseMs)
    socket.write(typeof piece === 'string' ? Buffer.from(piece, 'latin1') : piece)
  }
  if (fin) socket.end()
  await closed
  const answers = parse(Buffer.concat(chunks))
  if (isLate && !mayWait)
    throw new Error(`the connection stayed open after ${answers.map(({ status }) => status).join()}`)
  return answers
}

/** Parses the final responses; interim ones (1xx) are skipped. */
function parse(received: Buffer): RawResponse[] {
  const answers: RawResponse[] = []
  for (let rest = received; rest.length > 0; ) {
    const end = rest.indexOf('\r\n\r\n')
    const [first = '', ...lines] = rest.toString('latin1', 0, end).split('\r\n')
    const status = Number(/^HTTP\/1\.1 (\d{3})( |$)/.exec(first)?.[1])
    if (end === -1 || !status) throw new Error(`no answer of HTTP: ${rest.toString('latin1').slice(0, 200)}`)
    const pairs = lines.map(line => [line.replace(/:.*/, '').toLowerCase(), line.replace(/^[^:]*: ?/, '')])
    const headers = Object.fromEntries(pairs)
    const length = Number(headers['content-length'] ?? 0)
    const text = rest.toString('utf8', end + 4, end + 4 + length)
    if (status >= 200) answers.push({ status, headers, text })
    rest = rest.subarray(end + 4 + length)
  }
  return answers
}
