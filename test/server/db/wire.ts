import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'

/** Encodes a message of PostgreSQL's protocol: type, length and body. */
export function message(type: string, ...parts: (string | Buffer | number[])[]): Buffer {
  const body = Buffer.concat(parts.map(part => Buffer.from(part as string)))
  const length = Buffer.alloc(4)
  length.writeInt32BE(body.length + 4)
  return Buffer.concat([Buffer.from(type), length, body])
}

/** Messages of the extended protocol, with the unnamed statement and portal. */
export const parse = (sql: string) => message('P', `\0${sql}\0`, [0, 0])
export const bind = message('B', '\0\0', [0, 0, 0, 0, 0, 0])
export const describe = message('D', 'P\0')
export const execute = message('E', '\0', [0, 0, 0, 0])
export const flush = message('H')
export const sync = message('S')
export const terminate = message('X')
export const query = (sql: string) => message('Q', `${sql}\0`)

/** A client that sends raw messages. */
export class RawClient {
  readonly #socket: Socket
  #received = ''

  private constructor(socket: Socket) {
    this.#socket = socket.on('error', () => {})
    socket.on('data', chunk => {
      this.#received += chunk.toString('latin1')
    })
  }

  /** Connects and waits for ReadyForQuery. */
  static async open(path: string): Promise<RawClient> {
    const socket = connect(path)
    await once(socket, 'connect')
    const client = new RawClient(socket)
    client.send(message('', [0, 3, 0, 0], 'user\0postgres\0database\0postgres\0\0'))
    await client.ready()
    return client
  }

  send(...messages: Buffer[]): void {
    this.#socket.write(Buffer.concat(messages))
  }

  /** Sends each message in its own packet. */
  async sendSlowly(...messages: Buffer[]): Promise<void> {
    for (const one of messages) {
      this.send(one)
      await delay(20)
    }
  }

  /** Resolves to what was received before ReadyForQuery. */
  async ready(milliseconds = 5000): Promise<string> {
    const readyForQuery = 'Z\0\0\0\x05'
    for (const deadline = Date.now() + milliseconds; ; await delay(2)) {
      const end = this.#received.indexOf(readyForQuery)
      if (end !== -1 && this.#received.length > end + readyForQuery.length) {
        const answer = this.#received.slice(0, end)
        this.#received = this.#received.slice(end + readyForQuery.length + 1)
        return answer
      }
      if (Date.now() > deadline) throw new Error(`not ready after: ${JSON.stringify(this.#received)}`)
    }
  }

  /** Disconnects without Terminate. */
  die(): void {
    this.#socket.destroy()
  }
}
