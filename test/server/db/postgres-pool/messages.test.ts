import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { MessageCheck } from '../../../../server/db/postgres-pool/messages.ts'
import { randomFrom } from '../../../e2e/campaign.ts'
import { damage } from '../../../e2e/mutating-proxy.ts'
import { message } from '../wire.ts'

const ready = message('Z', 'I')
const complete = (tag: string) => message('C', `${tag}\0`)
const row = message('D', [0, 1, 0, 0, 0, 1], '7')
const columns = message('T', [0, 1], 'n\0', Buffer.alloc(18))
const connected = [message('R', [0, 0, 0, 0]), message('K', Buffer.alloc(8)), ready]
const described = [message('1'), message('t', [0, 1, 0, 0, 0, 23]), columns]
const executed = [message('2'), row, row, complete('SELECT 2'), ready]

/** Passes messages that follow a connection to a check. */
function read(...messages: Buffer[]): string {
  const check = new MessageCheck()
  check.read(Buffer.concat(connected))
  return check.read(Buffer.concat(messages)).toString('latin1')
}

const text = (...messages: Buffer[]) => Buffer.concat(messages).toString('latin1')

describe('MessageCheck', () => {
  it.each([
    ['a statement', [...described, ...executed]],
    ['a statement that was prepared', executed],
    [
      'a statement without columns',
      [message('1'), message('t', [0, 0]), message('n'), message('2'), complete('SET'), ready],
    ],
    ['a statement without rows', [message('2'), complete('INSERT 0 3'), ready]],
    ['an error after rows', [message('2'), row, message('E', 'SERROR\0\0'), ready]],
    ['statements of the simple protocol', [columns, row, complete('SHOW'), complete('CREATE TABLE'), ready]],
    ['a notice and a parameter', [message('N', 'SNOTICE\0\0'), message('S', 'a\0b\0'), ...executed]],
  ])('passes on %s', (_name, messages) => {
    expect(read(...messages)).toBe(text(...messages))
  })

  it('passes on whole messages only, however they are divided', () => {
    const all = Buffer.concat([...connected, ...described, ...executed])
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: all.length })), cuts => {
        const [check, edges] = [new MessageCheck(), [0, ...cuts.sort((a, b) => a - b), all.length]]
        const parts = edges.slice(1).map((end, index) => check.read(all.subarray(edges[index], end)))
        expect(Buffer.concat(parts)).toEqual(all)
      }),
    )
  })

  it.each([
    ['an unknown type', [message('?')]],
    ['a length of less than 4', [Buffer.from([0x44, 0, 0, 0, 3])]],
    ['a length beyond every row', [Buffer.from([0x44, 0x7f, 0, 0, 0])]],
    ['columns without the end of a name', [message('T', [0, 1], Buffer.alloc(20, 1))]],
    [
      'the name of a column that goes on into its description',
      [message('T', [0, 2], 'n\x01', Buffer.alloc(18), 'mm\0', Buffer.alloc(18))],
    ],
    ['more columns than it has', [message('T', [0, 2], 'n\0', Buffer.alloc(18))]],
    ['fewer types than it says', [message('t', [0, 2, 0, 0, 0, 23])]],
    ['a value that is longer than its row', [message('2'), message('D', [0, 1, 0, 0, 0, 2], '7')]],
    ['a value of a negative length', [message('2'), message('D', [0, 1, 255, 255, 255, 254], '7')]],
    ['fewer values than bytes', [message('2'), message('D', [0, 0, 0, 0, 0, 1], '7')]],
    ['columns that were lost', [message('1'), message('t', [0, 0]), message('N', 'S\0\0'), ...executed]],
    ['no columns after columns', [...described, message('n'), ...executed.slice(1)]],
    ['a row that was lost', [message('2'), row, complete('SELECT 2'), ready]],
    ['a row that was repeated', [message('2'), row, row, complete('INSERT 0 1'), ready]],
    ['a tag without its end', [message('2'), row, message('C', 'SELECT 1')]],
    ['the end of a statement twice', [message('2'), row, complete('SELECT 1'), complete('SELECT 1')]],
    ['no end of a statement', [message('2'), row, ready]],
    ['nothing before it is ready', [ready]],
    ['a row behind the end of its statement', [message('2'), complete('SELECT 0'), row]],
    ['an authentication later on', [message('R', [0, 0, 0, 0])]],
    ['an unknown status', [message('2'), complete('SELECT 0'), message('Z', '?')]],
  ])('rejects %s', (_name, messages) => {
    expect(() => read(...messages)).toThrow(expect.objectContaining({ code: 'CONNECTION_MALFORMED' }))
  })

  it('lets no damage of a message make another row of it', () => {
    const seed = Number(process.env['CONSENTCTL_TEST_SEED'] || 1) // others can insert bytes that are a row
    const random = randomFrom(seed)
    const answer = [
      message('2'),
      message('D', [0, 2, 0, 0, 0, 4], '{"a"', [255, 255, 255, 255]),
      complete('SELECT 1'),
      ready,
    ]
    const names = message('T', [0, 2], 'records\0', Buffer.alloc(18), 'last\0', Buffer.alloc(18))
    const all = [message('1'), message('t', [0, 1, 0, 0, 0, 23]), names, ...answer, ...answer]
    expect(new Set(rowsOf(all))).toEqual(new Set(['records={"a",last=null']))
    for (let count = 0; count < 20_000; count += 1) {
      const chosen = Math.floor(random() * all.length)
      const { kind, bytes } = damage(all[chosen] as Buffer, random)
      const other = rowsOf([...all.slice(0, chosen), bytes, ...all.slice(chosen + 1)]).filter(
        row => row !== 'records={"a",last=null',
      )
      expect(other, `seed ${seed}: ${kind} of message ${chosen} is ${bytes.toString('latin1')}`).toEqual([])
    }
  })
})

/** Reads messages as the driver does. Returns the rows of the statements that were answered to their end. */
function rowsOf(messages: readonly Buffer[]): string[] {
  const check = new MessageCheck()
  check.read(Buffer.concat(connected))
  const passed: Buffer[] = []
  try {
    for (const each of messages) passed.push(check.read(each))
  } catch {
    // The connection ends here.
  }
  let data = Buffer.concat(passed)
  let [names, rows, answered] = [[] as string[], [] as string[], [] as string[]]
  for (; data.length > 0; data = data.subarray(data.readUInt32BE(1) + 1)) {
    const type = String.fromCharCode(data[0] ?? 0)
    if (type === 'n') names = []
    else if (type === 'T') names = readNames(data)
    else if (type === 'D') rows.push(readRow(data, names))
    else if (type === 'E') rows = []
    else if (type === 'Z') [answered, rows] = [[...answered, ...rows], []]
  }
  return answered
}

function readNames(data: Buffer): string[] {
  let index = 7
  return Array.from({ length: data.readUInt16BE(5) }, () => {
    const end = data.indexOf(0, index)
    const name = data.toString('utf8', index, end)
    index = end + 19
    return name
  })
}

function readRow(data: Buffer, names: readonly string[]): string {
  let index = 7
  return names
    .map(name => {
      const length = data.readInt32BE(index)
      const value = length < 0 ? null : data.toString('utf8', index + 4, index + 4 + length)
      index += 4 + Math.max(0, length)
      return `${name}=${value}`
    })
    .join()
}
