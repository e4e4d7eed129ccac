import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

/** A TCP proxy before a PostgreSQL server, as a broken pooler: it damages the form of messages to the client. */
export interface MutatingProxy {
  readonly port: number
  /** The messages damaged so far, by the kind of damage. */
  readonly counts: ReadonlyMap<string, number>
  /** From 0 to 1: how many messages are damaged. */
  setRate(rate: number): void
  close(): Promise<void>
}

type Random = () => number

/** In bytes: a type and a length. */
const headerLength = 5

/** Connections with a damaged message are cut after a short time, so that most requests need not wait for their timeout. */
const cutAfterMs = { most: 100, some: 7000 }
const someShare = 0.02

/** The type of RowDescription. */
const columns = 'T'.charCodeAt(0)

const below = (random: Random, limit: number) => Math.floor(random() * limit)

function withLength(message: Buffer, length = message.length - 1): Buffer {
  const copy = Buffer.from(message)
  copy.writeUInt32BE(length >>> 0, 1)
  return copy
}

/** Offsets of what gives a message its form: counts, lengths of values and ends of texts. */
function findForm(message: Buffer): { counts: number[]; lengths: number[]; ends: number[] } {
  const type = String.fromCharCode(message[0] ?? 0)
  const form = { counts: 'DTt'.includes(type) ? [headerLength] : [], lengths: [] as number[], ends: [] as number[] }
  let index = headerLength + 2
  const count = form.counts.length > 0 ? message.readUInt16BE(headerLength) : 0
  for (let column = 0; column < count && type === 'D'; column += 1) {
    const length = message.readInt32BE(index)
    if (length >= 0) form.lengths.push(index)
    index += 4 + Math.max(0, length)
  }
  for (let column = 0; column < count && type === 'T'; column += 1) {
    const end = message.indexOf(0, index)
    form.ends.push(end)
    index = end + 19
  }
  if ('CES'.includes(type)) form.ends.push(message.length - 1)
  return form
}

/** What a message says stays as it is, because no client can tell whether a value, a name or a type is right. */
const damages: Record<string, (message: Buffer, random: Random) => Buffer | null> = {
  type: (message, random) => {
    const copy = Buffer.from(message)
    copy[0] = (message[0] ?? 0) ^ (1 + below(random, 255))
    return copy
  },
  length: (message, random) => {
    const shift = [-message.length, -1, 1, 4, 1000, 2 ** 27, 2 ** 31][below(random, 7)] ?? 0
    return withLength(message, message.length - 1 + shift)
  },
  'empty length': message => withLength(message, 0),
  count: (message, random) => {
    const [offset] = findForm(message).counts
    if (offset === undefined) return null
    const copy = Buffer.from(message)
    copy.writeUInt16BE((message.readUInt16BE(offset) + 1 + below(random, 65_535)) % 65_536, offset)
    return copy
  },
  'length of a value': (message, random) => {
    const { lengths } = findForm(message)
    const offset = lengths[below(random, lengths.length)]
    if (offset === undefined) return null
    const copy = Buffer.from(message)
    const shift = [-1000, -2, -1, 1, 2, 2 ** 30][below(random, 6)] ?? 0
    copy.writeInt32BE(message.readInt32BE(offset) + shift, offset)
    return copy
  },
  'end of a text': (message, random) => {
    const { ends } = findForm(message)
    if (ends.length === 0) return null
    const copy = Buffer.from(message)
    const chosen = random() < 0.5 ? ends : [ends[below(random, ends.length)] ?? 0]
    // In half of the cases no zero is left at all.
    for (const end of chosen) copy[end] = 1
    if (random() < 0.5) for (let index = headerLength; index < copy.length; index += 1) copy[index] ||= 1
    return copy
  },
  truncated: (message, random) => {
    const short = message.subarray(0, message.length - 1 - below(random, Math.max(1, message.length - headerLength)))
    return short.length > headerLength && random() < 0.5 ? withLength(short) : short
  },
  inserted: (message, random) => {
    const index = headerLength + below(random, message.length - headerLength + 1)
    const bytes = Buffer.from(Array.from({ length: 1 + below(random, 8) }, () => below(random, 256)))
    const long = Buffer.concat([message.subarray(0, index), bytes, message.subarray(index)])
    return random() < 0.5 && message[0] !== columns ? withLength(long) : long // else a name would be another one
  },
  // A client cannot tell these: the message only repeats what is known, or is for people.
  dropped: message => ('SNKA'.includes(String.fromCharCode(message[0] ?? 0)) ? null : Buffer.alloc(0)),
  repeated: message => Buffer.concat([message, message]),
  garbage: (message, random) =>
    Buffer.concat([Buffer.from(Array.from({ length: 1 + below(random, 20) }, () => below(random, 256))), message]),
}

export function damage(message: Buffer, random: Random): { kind: string; bytes: Buffer } {
  for (;;) {
    const kind = Object.keys(damages)[below(random, Object.keys(damages).length)] ?? ''
    const bytes = damages[kind]?.(message, random)
    if (bytes && !bytes.equals(message)) return { kind, bytes }
  }
}

/** Every decision is drawn from `random`, in the order of the messages. */
export async function startMutatingProxy(target: number, random: Random): Promise<MutatingProxy> {
  const counts = new Map<string, number>()
  const sockets = new Set<Socket>()
  let rate = 0
  /** Sends messages on until one is damaged; what follows it on the connection is sent as it is. */
  const relay = (client: Socket, server: Socket) => {
    let rest: Buffer = Buffer.alloc(0)
    let isDamaged = false
    server.on('data', (data: Buffer) => {
      if (isDamaged) return void client.write(data)
      rest = Buffer.concat([rest, data])
      while (rest.length >= headerLength && rest.length > rest.readUInt32BE(1) && !isDamaged) {
        const message = rest.subarray(0, rest.readUInt32BE(1) + 1)
        rest = rest.subarray(message.length)
        isDamaged = random() < rate
        if (!isDamaged) {
          client.write(message)
          continue
        }
        const { kind, bytes } = damage(message, random)
        counts.set(kind, (counts.get(kind) ?? 0) + 1)
        client.write(Buffer.concat([bytes, rest]))
        setTimeout(() => client.destroy(), random() < someShare ? cutAfterMs.some : cutAfterMs.most)
      }
    })
  }
  const proxy = createServer({ noDelay: true }, client => {
    const server = connect({ port: target, host: '127.0.0.1', noDelay: true })
    relay(client, server)
    client.on('data', data => server.write(data))
    for (const [socket, other] of [
      [client, server],
      [server, client],
    ] as const) {
      sockets.add(socket)
      socket.on('error', () => {})
      socket.on('close', () => {
        sockets.delete(socket)
        other.destroy()
      })
    }
  }).listen(0, '127.0.0.1')
  await once(proxy, 'listening')
  return {
    port: (proxy.address() as AddressInfo).port,
    counts,
    setRate: share => {
      rate = share
    },
    close: async () => {
      for (const socket of sockets) socket.destroy()
      proxy.close()
      await once(proxy, 'close')
    },
  }
}
