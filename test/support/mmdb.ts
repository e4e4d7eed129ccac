import ipaddr from 'ipaddr.js'

/** A value of a record: a text, a number, a list or a map. */
export type Value = string | number | readonly Value[] | { readonly [key: string]: Value }

/** A node's two branches: a further node, the place of a record in the data section, or nothing. */
type Node = [Branch, Branch]
type Branch = Node | number | null

const separator = Buffer.alloc(16)
const marker = Buffer.from('\xAB\xCD\xEFMaxMind.com', 'latin1')

/**
 * A database that knows the networks (CIDR) it is given, the wider before the narrower, in the MaxMind DB File Format
 * 2.0 (https://maxmind.github.io/MaxMind-DB). One for IPv6 keeps IPv4 networks below ::/96.
 */
export function mmdb(networks: Readonly<Record<string, Value>>, ipVersion: 4 | 6 = 6): Buffer {
  const root: Node = [null, null]
  const records: Buffer[] = []
  let end = 0
  for (const [cidr, value] of Object.entries(networks)) {
    insert(root, bitsOf(cidr, ipVersion), end)
    const record = encode(value)
    records.push(record)
    end += record.length
  }
  const nodes = listNodes(root)
  const metadata = encode({
    binary_format_major_version: 2,
    binary_format_minor_version: 0,
    build_epoch: 1,
    database_type: 'Test',
    ip_version: ipVersion,
    node_count: nodes.length,
    record_size: 24,
  })
  return Buffer.concat([encodeTree(nodes), separator, ...records, marker, metadata])
}

function bitsOf(cidr: string, ipVersion: 4 | 6): string {
  const [address, length] = ipaddr.parseCIDR(cidr)
  const bits = address.toByteArray().map(byte => byte.toString(2).padStart(8, '0'))
  const above = ipVersion === 6 && address.kind() === 'ipv4' ? '0'.repeat(96) : ''
  return above + bits.join('').slice(0, length)
}

function insert(root: Node, bits: string, record: number): void {
  let node = root
  for (const [index, bit] of [...bits].entries()) {
    const side = bit === '1' ? 1 : 0
    if (index === bits.length - 1) {
      node[side] = record
      return
    }
    const branch = node[side]
    const next: Node = Array.isArray(branch) ? branch : [branch, branch]
    node[side] = next
    node = next
  }
}

function listNodes(node: Node): Node[] {
  return [node, ...node.flatMap(branch => (Array.isArray(branch) ? listNodes(branch) : []))]
}

function encodeTree(nodes: readonly Node[]): Buffer {
  const numbers = new Map(nodes.map((node, index) => [node, index]))
  const tree = Buffer.alloc(nodes.length * 6)
  const numberOf = (branch: Branch) => {
    if (branch === null) return nodes.length
    return Array.isArray(branch) ? (numbers.get(branch) ?? 0) : nodes.length + separator.length + branch
  }
  for (const [index, branch] of nodes.flat().entries()) tree.writeUIntBE(numberOf(branch as Branch), index * 3, 3)
  return tree
}

/** Texts, lists and maps of less than 29 bytes or items, which need no length of their own. */
function encode(value: Value): Buffer {
  if (typeof value === 'string') return Buffer.concat([control(2, Buffer.byteLength(value)), Buffer.from(value)])
  if (typeof value === 'number') {
    const bytes = Buffer.alloc(4)
    bytes.writeUInt32BE(value)
    return Buffer.concat([control(6, 4), bytes])
  }
  if (Array.isArray(value)) return Buffer.concat([control(11, value.length), ...value.map(encode)])
  const entries = Object.entries(value)
  return Buffer.concat([control(7, entries.length), ...entries.flat().map(part => encode(part as Value))])
}

function control(type: number, size: number): Buffer {
  if (size >= 29) throw new RangeError(`too long for a test's database: ${size}`)
  return Buffer.from(type < 8 ? [(type << 5) | size] : [size, type - 7])
}
