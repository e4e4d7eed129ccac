import { Socket } from 'node:net'

/** A message that violates "Message Formats" of PostgreSQL's manual, or is out of place. */
export class MalformedMessage extends Error {
  override readonly name = 'MalformedMessage'
  /** A connection code, because the statement may have been executed. */
  readonly code = 'CONNECTION_MALFORMED'
}

/**
 * A socket on which the driver sees only complete, well-formed messages. A malformed one destroys it with an error, because
 * the driver would loop forever, hang, or return a wrong row.
 */
export class CheckedSocket extends Socket {
  readonly #messages = new MessageCheck()

  override emit(event: string | symbol, ...values: unknown[]): boolean {
    if (event !== 'data') return super.emit(event, ...values)
    try {
      const messages = this.#messages.read(values[0] as Buffer)
      return messages.length > 0 && super.emit('data', messages)
    } catch (error) {
      this.destroy(error as Error)
      return false
    }
  }
}

const headerLength = 5

/** Far longer than any row of the service. */
const maxMessageLength = 2 ** 26

const emptyBuffer: Buffer = Buffer.alloc(0)

/** Fixed lengths of messages, without the type byte. */
const lengths: Partial<Record<string, number>> = { 1: 4, 2: 4, n: 4, I: 4, Z: 5, K: 12 }

/** Other types that can arrive without COPY and cursors. */
const others = new Set('RSENAvtTDC')

export class MessageCheck {
  #rest: Buffer = emptyBuffer
  /** True from BindComplete to the end of the rows. */
  #isExecuting = false
  /** True if the sequence up to ReadyForQuery had a BindComplete. */
  #wasBound = false
  /** True if the sequence had a CommandComplete, an error, or an authentication. */
  #hasEnded = false
  #rows = 0
  #isConnected = false
  /** True between a statement's parameters and columns. Without columns the driver returns rows without values. */
  #lacksColumns = false

  /** Returns the messages that this chunk completes. @throws MalformedMessage */
  read(chunk: Buffer): Buffer {
    const data = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk])
    let start = 0
    while (data.length - start >= headerLength) {
      const length = data.readUInt32BE(start + 1)
      if (length < headerLength - 1 || length > maxMessageLength) throw new MalformedMessage('a length is out of range')
      const end = start + 1 + length
      if (end > data.length) break
      this.#check(data.subarray(start, end))
      start = end
    }
    this.#rest = data.subarray(start)
    return data.subarray(0, start)
  }

  #check(message: Buffer): void {
    const type = String.fromCharCode(message[0] ?? 0)
    const length = lengths[type]
    if (length === undefined ? !others.has(type) : message.length !== length + 1) {
      throw new MalformedMessage(`a message of type ${JSON.stringify(type)} has ${message.length - 1} bytes`)
    }
    this.#describe(type)
    if (type === 'D') this.#checkRow(message)
    else if (type === 'T') checkColumns(message)
    else if (type === 't') checkParameters(message)
    else if (type === '2') this.#bind()
    else if (type === 'C') this.#complete(message)
    else if (type === 'E' || type === 'I') this.#end()
    else if (type === 'R' || type === 'K') this.#authenticate(message)
    else if (type === 'Z') this.#ready(message)
  }

  #describe(type: string): void {
    if (type === 'n' && !this.#lacksColumns) throw new MalformedMessage('a statement loses its columns')
    if (this.#lacksColumns && '2DCEZ'.includes(type)) throw new MalformedMessage('a statement has no columns')
    if ('tTn'.includes(type)) this.#lacksColumns = type === 't'
  }

  #checkRow(message: Buffer): void {
    if (this.#wasBound && !this.#isExecuting) throw new MalformedMessage('a row is outside of a statement')
    this.#rows += 1
    let index = headerLength + 2
    for (let left = readCount(message); left > 0; left -= 1) {
      const length = index + 4 <= message.length ? message.readInt32BE(index) : -2
      if (length < -1) throw new MalformedMessage('a value of a row has no length')
      index += 4 + Math.max(0, length)
    }
    if (index !== message.length) throw new MalformedMessage('the values of a row are not as long as the row')
  }

  #bind(): void {
    if (this.#isExecuting) throw new MalformedMessage('a statement has no end')
    this.#isExecuting = true
    this.#wasBound = true
  }

  /** Skips the row count of the simple protocol, where a statement can count rows without returning any. */
  #complete(message: Buffer): void {
    const tag = /^([A-Z ]+?)((?: \d+){0,2})\0$/.exec(message.toString('latin1', headerLength))
    if (!tag) throw new MalformedMessage('the tag of a command is malformed')
    if (this.#wasBound && !this.#isExecuting) throw new MalformedMessage('a statement ends twice')
    const [, command, numbers = ''] = tag
    const count = Number(numbers.split(' ').at(-1))
    const mustReturn = this.#rows > 0 || (this.#wasBound && command === 'SELECT')
    if (mustReturn && numbers !== '' && this.#rows !== count) {
      throw new MalformedMessage('a statement has returned another number of rows than it says')
    }
    this.#end()
  }

  #end(): void {
    this.#isExecuting = false
    this.#hasEnded = true
    this.#rows = 0
  }

  #authenticate(message: Buffer): void {
    if (this.#isConnected || message.length < headerLength + 4)
      throw new MalformedMessage('an authentication is out of place')
    this.#hasEnded = true
  }

  #ready(message: Buffer): void {
    if (this.#isExecuting || !this.#hasEnded) throw new MalformedMessage('a statement has no end')
    if (!/[ITE]/.test(message.toString('latin1', headerLength))) throw new MalformedMessage('a status is unknown')
    this.#hasEnded = false
    this.#wasBound = false
    this.#isConnected = true
  }
}

function readCount(message: Buffer): number {
  if (message.length < headerLength + 2) throw new MalformedMessage('a count is missing')
  return message.readUInt16BE(headerLength)
}

/** Bytes of a column's description after the name. */
const columnLength = 18

function checkColumns(message: Buffer): void {
  let index = headerLength + 2
  for (let left = readCount(message); left > 0; left -= 1) {
    const end = message.indexOf(0, index)
    if (end < 0) throw new MalformedMessage('the name of a column has no end')
    // A name that runs on into its description can make later columns look well-formed.
    if (/[^ -~]/.test(message.toString('latin1', index, end))) throw new MalformedMessage('a name is not one of ours')
    index = end + 1 + columnLength
  }
  if (index !== message.length) throw new MalformedMessage('the columns are not as long as their description')
}

function checkParameters(message: Buffer): void {
  if (message.length !== headerLength + 2 + 4 * readCount(message)) {
    throw new MalformedMessage('the types of parameters are not as many as they say')
  }
}
