// The simulated database server: PostgreSQL's protocol on simulated connections, and the model behind it. A statement that has
// committed survives everything; its answer may not.
import { message } from '../server/db/wire.ts'
import type { Model } from './model.ts'
import type { End } from './network.ts'
import { listen, storm, type Weather } from './network.ts'
import { current, type Process } from './scheduler.ts'
import { decode, encode } from './values.ts'

/** Chances that a statement meets trouble. */
export interface Trouble {
  /** It fails, and is not executed. */
  readonly error: number
  /** The connection is lost before or after it is executed. */
  readonly loss: number
  /** It takes long. */
  readonly slow: number
}

/** Codes of PostgreSQL for statements that were rolled back. */
const rolledBack = ['40001', '40P01', '57014', '55P03', '53100', '25006', '26000']

const statementTimeoutMs = 5000

type Execute = (...args: unknown[]) => unknown[]

export class Database {
  readonly model: Model
  readonly trouble: Trouble
  /** True once it said that it is read-only: accounts without a limit then spend on credit, which a node that stops may lose. */
  wasReadOnly = false
  #process: Process
  #isDown = false
  #stalledUntil = 0

  constructor(model: Model, trouble: Trouble, weather: Weather) {
    this.model = model
    this.trouble = trouble
    this.#process = current().spawn('database')
    listen('database', () =>
      this.#isDown ? undefined : { process: this.#process, weather, accept: end => new Backend(this, end) },
    )
  }

  /** Ends all connections and what has not committed; refuses connections for that time. */
  restart(downMs: number): void {
    this.#isDown = true
    this.#process.kill()
    current().after(downMs, 'database starts', () => {
      this.#process = current().spawn('database')
      this.#isDown = false
    })
  }

  /** Executes nothing for that time. */
  stall(ms: number): void {
    this.#stalledUntil = current().now + ms
  }

  execute(name: string, args: unknown[]): unknown[] {
    const statement = this.model[name as 'findKey'] as unknown as Execute
    return statement.apply(this.model, args)
  }

  get stalledMs(): number {
    return Math.max(0, this.#stalledUntil - current().now)
  }
}

/** One connection. */
class Backend {
  readonly #database: Database
  readonly #end: End
  readonly #queue: { readonly type: string; readonly body: Buffer }[] = []
  readonly #statements = new Map<string, string>()
  #input = Buffer.alloc(0)
  #isStarted = false
  #isBusy = false
  #isSkipping = false
  #bound: { name: string; args: string[] } = { name: '', args: [] }
  #output: Buffer[] = []

  constructor(database: Database, end: End) {
    this.#database = database
    this.#end = end
    end.owner = { onData: bytes => this.#receive(bytes), onEnd: () => end.close(false), onReset: () => {} }
  }

  #receive(bytes: Buffer): void {
    this.#end.consumed(bytes.length)
    this.#input = Buffer.concat([this.#input, bytes])
    for (;;) {
      const start = this.#isStarted ? 1 : 0
      if (this.#input.length < start + 4) break
      const length = this.#input.readUInt32BE(start) + start
      if (this.#input.length < length) break
      const type = this.#isStarted ? String.fromCharCode(this.#input[0] as number) : 'start'
      this.#queue.push({ type, body: this.#input.subarray(start + 4, length) })
      this.#input = this.#input.subarray(length)
      this.#isStarted = true
    }
    this.#work()
  }

  #work(): void {
    while (!this.#isBusy) {
      const next = this.#queue.shift()
      if (!next) break
      if (this.#isSkipping && next.type !== 'S') continue
      this.#handlers[next.type]?.(next.body)
    }
    if (!this.#isBusy) this.#flush()
  }

  #flush(): void {
    if (this.#output.length > 0) this.#end.send(Buffer.concat(this.#output.splice(0)))
  }

  readonly #handlers: Record<string, (body: Buffer) => void> = {
    start: () => this.#output.push(message('R', [0, 0, 0, 0]), message('K', [0, 0, 0, 1, 0, 0, 0, 1]), ready),
    P: body => {
      const [name = '', text = ''] = body.toString().split('\0')
      this.#statements.set(name, text)
      this.#output.push(message('1'))
    },
    D: body => {
      const text = this.#statements.get(body.toString('utf8', 1).split('\0')[0] ?? '') ?? ''
      const types = text.includes('$1') ? [0, 2, 0, 0, 0, 25, 0, 0, 0, 25] : [0, 0]
      this.#output.push(
        message('t', types),
        text.includes('$1') ? columns(['number', 'value']) : columns(['is_standby'], boolean),
      )
    },
    B: body => {
      const [, name = ''] = body.toString().split('\0', 2)
      if (!this.#statements.has(name) && name !== '') return this.#fail('26000', { routine: 'FetchPreparedStatement' })
      this.#bound = { name: this.#statements.get(name) ?? '', args: argumentsOf(body.subarray(name.length + 2)) }
      this.#output.push(message('2'))
    },
    E: () => this.#execute(this.#bound),
    H: () => this.#flush(),
    S: () => {
      this.#isSkipping = false
      this.#output.push(ready)
      this.#flush()
    },
    X: () => this.#end.close(false),
  }

  #fail(code: string, { severity = 'ERROR', routine = 'exec' } = {}): void {
    this.#isSkipping = true
    const field = (type: string, text: string) => `${type}${text}\0`
    const fields = field('S', severity) + field('V', severity) + field('C', code) + field('R', routine)
    this.#output.push(message('E', `${fields}Msimulated\0\0`))
  }

  #execute({ name: text, args }: { name: string; args: string[] }): void {
    const [, name] = /from (\w+)\(/.exec(text) ?? []
    if (!name) {
      this.#output.push(row(['f']), done(1))
      return
    }
    const { random } = current()
    const { error, loss, slow } = storm.isOver ? noTrouble : this.#database.trouble
    const ms = this.#database.stalledMs + (random.chance(slow) ? random.int(10, 6000) : random.latency(0.1, 3))
    const statement = { name, number: args[0] ?? '', args: args[1] ?? '' }
    if (ms > statementTimeoutMs)
      this.#later(statementTimeoutMs, `${name} takes too long`, () => this.#reject('57014', statement))
    else if (random.chance(error))
      this.#later(ms, `${name} fails`, () => this.#reject(random.pick(rolledBack), statement))
    else if (random.chance(loss / 2)) this.#later(ms, `${name} is lost`, () => this.#lose(random.chance(0.5)))
    else this.#later(ms, `${name} #${statement.number}`, () => this.#answer(statement, random.chance(loss)))
  }

  #later(ms: number, label: string, run: () => void): void {
    this.#isBusy = true
    current().after(ms, label, () => {
      this.#isBusy = false
      run()
      this.#work()
    })
  }

  /** Rolls a statement back, some of whose rows may have been sent. */
  #reject(code: string, { number }: Statement): void {
    if (code === '25006') this.#database.wasReadOnly = true
    const sent = code === '26000' ? 0 : current().random.int(0, 2)
    for (let count = sent; count > 0; count -= 1) this.#output.push(row([number, encode({})]))
    this.#fail(code, code === '26000' ? { routine: 'FetchPreparedStatement' } : {})
  }

  #lose(isTold: boolean): void {
    if (isTold) this.#fail('57P01', { severity: 'FATAL' })
    this.#flush()
    this.#end.close(current().random.chance(0.5))
  }

  /** With `isLost` the statement is executed, and nobody told. */
  #answer({ name, number, args }: Statement, isLost: boolean): void {
    let rows: unknown[]
    try {
      rows = this.#database.execute(name, decode(args) as unknown[])
    } catch (error) {
      this.#fail((error as { code?: string }).code ?? 'XX000')
      return
    }
    if (isLost) {
      current().trace('and its answer is lost')
      this.#output = []
      this.#end.close(current().random.chance(0.5))
      return
    }
    for (const value of [...rows, { rows: rows.length }]) this.#output.push(row([number, encode(value)]))
    this.#output.push(done(rows.length + 1))
  }
}

interface Statement {
  readonly name: string
  /** Which its rows repeat. */
  readonly number: string
  readonly args: string
}

const noTrouble: Trouble = { error: 0, loss: 0, slow: 0 }

const ready = message('Z', 'I')
const done = (rows: number) => message('C', `SELECT ${rows}\0`)

const text = 25
const boolean = 16

function columns(names: readonly string[], type = text): Buffer {
  const fields = names.map(name =>
    Buffer.concat([
      Buffer.from(`${name}\0`),
      Buffer.from([0, 0, 0, 0, 0, 0, 0, 0, 0, type, 255, 255, 255, 255, 255, 255, 0, 0]),
    ]),
  )
  return message('T', [0, names.length], ...fields)
}

function row(values: readonly string[]): Buffer {
  const fields = values.map(value => {
    const text = Buffer.from(value)
    const length = Buffer.alloc(4)
    length.writeInt32BE(text.length)
    return Buffer.concat([length, text])
  })
  return message('D', [0, values.length], ...fields)
}

/** Of a Bind message, after its names: no formats, then the values. */
function argumentsOf(body: Buffer): string[] {
  const values: string[] = []
  let position = 4
  for (let count = body.readInt16BE(2); count > 0; count -= 1) {
    const length = body.readInt32BE(position)
    values.push(body.toString('utf8', position + 4, position + 4 + length))
    position += 4 + length
  }
  return values
}
