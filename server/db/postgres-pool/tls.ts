import { isIP, type Socket } from 'node:net'
import { Duplex } from 'node:stream'
import { type ConnectionOptions, connect } from 'node:tls'
import { MalformedMessage, MessageCheck } from './messages.ts'

/** Driver's settings (`sslmode`, `sslnegotiation`). */
export interface TlsSettings {
  readonly ssl: string | boolean | ConnectionOptions
  readonly sslnegotiation: string | null
}

const sslRequest = Buffer.from([0, 0, 0, 8, 4, 210, 22, 47])

const acceptsTls = 'S'.charCodeAt(0)

/**
 * A TLS connection on which the driver sees only complete, well-formed messages. Negotiates TLS itself, because the driver
 * would read from the raw socket. Writes wait until the certificate is verified.
 */
export class SecureSocket extends Duplex {
  readonly host: string
  readonly port: number
  readonly #raw: Socket
  readonly #settings: TlsSettings
  readonly #messages = new MessageCheck()
  #stream: Socket

  constructor(
    raw: Socket,
    { host, port, ...settings }: TlsSettings & { readonly host: string; readonly port: number },
  ) {
    super({ allowHalfOpen: false })
    this.host = host
    this.port = port
    this.#raw = raw
    this.#stream = raw
    this.#settings = settings
  }

  /** Read by the driver before it ends a connection. */
  get readyState(): string {
    return this.destroyed ? 'closed' : 'open'
  }

  setKeepAlive(enable: boolean, delayMs: number): void {
    this.#raw.setKeepAlive(enable, delayMs)
  }

  override destroy(error?: Error): this {
    this.#raw.destroy() // otherwise destroy() waits for _construct()
    return super.destroy(error)
  }

  override _construct(callback: (error?: Error | null) => void): void {
    this.#open().then(() => callback(), callback)
  }

  async #open(): Promise<void> {
    await eventOf(this.#raw, 'connect')
    if (await this.#negotiates()) {
      this.#stream = connect({ socket: this.#raw, ...toOptions(this.#settings, this.host) })
      await eventOf(this.#stream, 'secureConnect')
    }
    this.#stream.on('error', error => this.destroy(error)).on('close', () => this.push(null))
    this.#stream.on('end', () => this.push(null)).on('data', chunk => this.#pass(chunk))
  }

  /** Returns false if the server has no TLS and `sslmode` allows that. */
  async #negotiates(): Promise<boolean> {
    if (this.#settings.sslnegotiation === 'direct') return true
    this.#raw.write(sslRequest)
    const answer = await eventOf(this.#raw, 'data')
    // More bytes could only come from an attacker, for the driver to take as sent over TLS.
    if (answer.length !== 1) throw new MalformedMessage('the answer to a request for TLS is not one byte')
    return answer[0] === acceptsTls || this.#settings.ssl !== 'prefer'
  }

  #pass(chunk: Buffer): void {
    try {
      const messages = this.#messages.read(chunk)
      if (messages.length > 0 && !this.push(messages)) this.#stream.pause()
    } catch (error) {
      this.destroy(error as Error)
    }
  }

  override _read(): void {
    this.#stream.resume()
  }

  /** Reports success at once: failures arrive as events. */
  override _write(chunk: Buffer, _encoding: string, callback: () => void): void {
    this.#stream.write(chunk, () => callback())
  }

  override _final(callback: () => void): void {
    this.#stream.end(() => callback())
  }

  override _destroy(error: Error | null, callback: (error: Error | null) => void): void {
    this.#stream.destroy()
    callback(error)
  }
}

/** Follows the driver: modes below `verify-full`, such as `require`, trust any certificate. */
function toOptions({ ssl, sslnegotiation }: TlsSettings, host: string): ConnectionOptions {
  return {
    ...(isIP(host) === 0 && { servername: host }),
    ...(sslnegotiation === 'direct' && { ALPNProtocols: ['postgresql'] }),
    ...(/^(require|allow|prefer)$/.test(String(ssl)) && { rejectUnauthorized: false }),
    ...(typeof ssl === 'object' && ssl),
  }
}

/** @throws Error if the socket fails or closes before the event */
function eventOf(socket: Socket, name: 'connect' | 'secureConnect' | 'data'): Promise<Buffer> {
  const closed = Object.assign(new Error('the database closed the connection'), { code: 'ECONNRESET' })
  return new Promise((resolve, reject) => {
    socket.once(name, resolve).once('error', reject)
    socket.once('close', () => reject(closed))
  })
}
