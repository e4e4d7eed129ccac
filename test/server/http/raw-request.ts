import { connect } from 'node:net'

export interface RawAnswer {
  readonly status: number
  readonly headers: Record<string, string>
  readonly text: string
}

/** Sends raw bytes to a server and reads until it closes the connection. Returns null if it sent no response. */
export async function sendRaw(url: string, bytes: string | Buffer, timeoutMs = 5000): Promise<RawAnswer | null> {
  const { hostname, port } = new URL(url)
  const socket = connect({ host: hostname, port: Number(port) })
  const chunks: Buffer[] = []
  socket.on('data', chunk => chunks.push(chunk))
  socket.on('error', () => {}) // a reset after the answer is as good as an end
  socket.setTimeout(timeoutMs, () => socket.destroy())
  const closed = new Promise(resolve => socket.once('close', resolve)) // events.once would reject at the error
  socket.write(bytes)
  await closed
  return parse(Buffer.concat(chunks).toString())
}

function parse(answer: string): RawAnswer | null {
  const [head = '', text = ''] = answer.split(/\r\n\r\n(.*)/s)
  const [first = '', ...lines] = head.split('\r\n')
  const status = /^HTTP\/1\.1 (\d{3}) /.exec(first)?.[1]
  if (!status) return null
  const headers = lines
    .map(line => line.split(/: ?(.*)/s))
    .map(([name = '', value = '']) => [name.toLowerCase(), value])
  return { status: Number(status), headers: Object.fromEntries(headers), text }
}
