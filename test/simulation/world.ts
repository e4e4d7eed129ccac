// A world of one seed: nodes of the service on one database, their clients, and what goes wrong between them.
import { createApp } from '../../server/app.ts'
import { hashOf, newApiKey } from '../../server/auth/credential.ts'
import { connect } from '../../server/db/connect.ts'
import { drain } from '../../server/http/server.ts'
import { newId } from '../../server/ids.ts'
import { nowhere } from '../../server/net/geo.ts'
import { Quota } from '../../server/quota/quota.ts'
import { maxEventWait } from '../../src/contract/index.ts'
import { Database, type Trouble } from './database.ts'
import { observer, type Request } from './edges/fastify.ts'
import { instance } from './edges/routes.ts'
import { Model } from './model.ts'
import { type Listener, listen, StreamSocket, storm, type Weather } from './network.ts'
import { current, type Process, type Random } from './scheduler.ts'

/** The draw of a seed. */
export interface Climate {
  readonly trouble: Trouble
  readonly network: Weather
  readonly nodes: number
  /** True for an instance of another make, which neither takes batches nor keeps keys. */
  readonly isForeign: boolean
  readonly quota: number | null
  readonly restarts: boolean
  readonly crashes: boolean
  readonly pauses: boolean
  readonly wrongClocks: boolean
  readonly stormMs: number
  readonly startedAt: number
  /** Nothing goes wrong but what clients do. */
  readonly isFair: boolean
  /** Names. */
  readonly followers: readonly string[]
}

/** Each kind of trouble is absent from half of the schedules: together they hide each other. */
export function drawClimate(random: Random): Climate {
  const isFair = random.chance(0.1)
  const some = (highest: number) => (isFair || random.chance(0.5) ? 0 : random.next() * highest)
  const weather = () => ({ cut: some(0.04), hold: some(0.03), refuse: some(0.2), latencyMs: random.pick([2, 5, 40]) })
  const isMonthsEnd = random.chance(0.1)
  return {
    isFair,
    trouble: { error: some(0.1), loss: some(0.08), slow: some(0.08) },
    network: weather(),
    nodes: random.int(1, 2),
    isForeign: random.chance(0.25),
    quota: random.chance(0.5) ? null : random.int(2, 80),
    restarts: some(1) > 0,
    crashes: some(1) > 0,
    pauses: some(1) > 0,
    wrongClocks: some(1) > 0,
    stormMs: random.int(200, 8000),
    startedAt: isMonthsEnd ? Date.UTC(2026, 10, 30, 23, 59, random.int(45, 59)) : Date.UTC(2026, 10, 20, 12),
    followers: random.pick([[], [], [], ['follower 1'], ['follower 1', 'follower 2']]),
  }
}

/** The request deadline, and half a second. */
const longestAnswerMs = 5500

const longestWaitMs = 1000 * maxEventWait

export class World {
  readonly climate: Climate
  readonly model: Model
  readonly database: Database
  readonly siteId = newId()
  readonly key: string
  /** Requests and rows that count against the quota. */
  consumed = 0
  readonly #nodes: Node[] = []
  #made = 0

  constructor(climate: Climate) {
    const scheduler = current()
    this.climate = climate
    const accountId = newId()
    this.key = newApiKey(accountId)
    const account = {
      accountId,
      keyId: newId(),
      keyHash: hashOf(this.key).toString('hex'),
      monthlyQuota: climate.quota,
    }
    this.model = new Model(account)
    this.model.sites.set(this.siteId, 1)
    storm.isOver = false
    instance.isForeign = climate.isForeign
    this.database = new Database(this.model, climate.trouble, climate.network)
    observer.onAnswer = (request, status, text) => this.#check(request, status, text)
    observer.onStreamEnd = last => {
      const { next_cursor: next } = JSON.parse(last) as { next_cursor: string | null }
      if (next !== null) scheduler.fail('a stream is complete without its last page')
    }
    listen('127.0.0.1', () => {
      const alive = this.#nodes.filter(node => node.isListening)
      return alive.length === 0 ? undefined : scheduler.random.pick(alive).listener
    })
    for (let index = 0; index < climate.nodes; index += 1) this.startNode()
  }

  get nodes(): readonly Node[] {
    return this.#nodes
  }

  startNode(): Node {
    this.#made += 1
    const node = new Node(this, `node ${this.#made}`)
    this.#nodes.push(node)
    return node
  }

  remove(node: Node): void {
    this.#nodes.splice(this.#nodes.indexOf(node), 1)
  }

  /** Looks for what can go wrong until the storm is over, then lets all that has gone wrong come right. */
  async storm(): Promise<void> {
    const scheduler = current()
    const { random } = scheduler
    const { restarts, crashes, pauses, wrongClocks, stormMs } = this.climate
    const troubles: (() => void)[] = []
    if (restarts) troubles.push(() => this.database.restart(random.int(20, 4000)))
    if (restarts) troubles.push(() => this.database.stall(random.int(20, 7000)))
    if (crashes) troubles.push(() => this.#replace(random.pick(this.#nodes)))
    if (pauses) troubles.push(() => this.#pause(random.pick(this.#nodes).process))
    if (wrongClocks)
      troubles.push(() => {
        random.pick(this.#nodes).process.clockOffsetMs = random.int(-900, 900)
      })
    while (scheduler.now < stormMs) {
      await scheduler.sleep(random.int(20, 4000), 'weather')
      if (troubles.length > 0 && this.#nodes.length > 0) random.pick(troubles)()
    }
    await scheduler.sleep(15_000, 'the last of the storm')
    storm.isOver = true
    if (this.#nodes.length === 0) this.startNode()
    for (const { process } of this.#nodes) process.clockOffsetMs = 0
    scheduler.trace('the storm is over')
  }

  #pause(process: Process): void {
    process.pausedUntil = current().now + current().random.int(10, 4000)
  }

  /** Another node takes a node's place, which crashes or stops as it should. */
  #replace(node: Node): void {
    const scheduler = current()
    const { random } = scheduler
    if (random.chance(0.5)) {
      scheduler.trace(`${node.process.name} crashes`)
      node.process.kill()
      this.remove(node)
    } else scheduler.after(0, 'stops', () => void node.stop(), node.process)
    const world = scheduler.process
    scheduler.after(random.int(10, 3000), 'starts', () => void this.startNode(), world)
  }

  countBySubject(): Map<string, number> {
    const counts = new Map<string, number>()
    for (const { versions } of this.model.consents.values()) {
      const subject = versions[0]?.row.subject_id ?? ''
      counts.set(subject, (counts.get(subject) ?? 0) + 1)
    }
    return counts
  }

  /**
   * When everything is over. With `isUndisturbed` no client was killed, whose request may take a unit without an answer,
   * and none followed, whose requests take one only if there is one.
   */
  check(isUndisturbed: boolean): void {
    const { quota } = this.climate
    const months = [...this.model.usage.values()]
    const used = months.reduce((sum, usage) => sum + usage.used, 0)
    if (quota !== null && months.some(usage => usage.used > quota))
      current().fail('the database has more units than the quota')
    if (isUndisturbed && this.climate.isFair && this.consumed !== used)
      current().fail(`${used} units for ${this.consumed} requests`)
    const mayLoseCredit = quota === null && this.database.wasReadOnly
    if (this.consumed > used && !mayLoseCredit)
      current().fail(`${this.consumed} requests were answered for ${used} units`)
  }

  /** Checks an answer of the service at the moment when it leaves. */
  #check(request: Request, status: number, text: string): void {
    const scheduler = current()
    const body: unknown = text === '' ? null : JSON.parse(text)
    const path = request.routeOptions.url
    scheduler.trace(`answers ${request.raw.method} ${path} ${status}`)
    this.#checkTime(request)
    if (path === '/api/v1/consents/:id') this.#checkRecord(request.params['id'] ?? '', status, body)
    const answers =
      path?.endsWith('/batch') && status === 200 ? (body as { results: { status: number }[] }).results : [body]
    for (const answer of answers) {
      const own = (answer as { status?: number } | null)?.status ?? status
      const consent = (answer as { consent?: { id: string } } | null)?.consent ?? (answer as { id?: string } | null)
      if (own === 201 && !this.model.consents.has(consent?.id ?? ''))
        scheduler.fail(`201 for a record that is not stored`)
      if (own === 429 && !this.#mayRefuse()) scheduler.fail('429 although the quota is not used up')
      if ([400, 401, 403, 409, 500].includes(own)) scheduler.fail(`${own} for a valid request: ${text}`)
      if (!/\/(openapi\.json|events)$/.test(path ?? '') && own < 500 && ![401, 429].includes(own)) this.consumed += 1
    }
  }

  /** A response about a record states a version that it had, and no record that is there is denied. */
  #checkRecord(id: string, status: number, body: unknown): void {
    const told = JSON.stringify(body)
    const versions = this.model.consents.get(id)?.versions ?? []
    if (status === 200 && !versions.some(({ row }) => JSON.stringify(row) === told))
      current().fail(`${told} was never so`)
    if (status === 404 && versions.at(-1)?.row.deleted_at === null) current().fail(`404 for ${id}, which is there`)
  }

  #checkTime({ arrivedAt, raw }: Request): void {
    const ms = current().now - (arrivedAt ?? current().now)
    const waitMs = raw.url?.includes('wait=') ? longestWaitMs : 0
    if (ms > longestAnswerMs + waitMs && !this.climate.pauses)
      current().fail(`${raw.method} ${raw.url} was answered after ${ms} ms`)
  }

  /** A request lives for seconds, and may have been refused at any instant of that time. */
  #mayRefuse(): boolean {
    return this.climate.quota !== null && current().now - this.model.exhaustedAt < 15_000
  }
}

/** A node of the service: the product's application, quota and pool. */
export class Node {
  readonly process: Process
  readonly listener: Listener
  readonly #world: World
  #stop: (() => Promise<void>) | undefined
  isStopping = false

  constructor(world: World, name: string) {
    const scheduler = current()
    this.#world = world
    this.process = scheduler.spawn(name)
    this.listener = { process: this.process, weather: world.climate.network, accept: () => {} }
    scheduler.after(0, 'starts', () => this.#start(), this.process)
  }

  get isListening(): boolean {
    return this.process.isAlive && this.#stop !== undefined && !this.isStopping
  }

  #start(): void {
    const sql = connect({ target: { url: 'postgres://service@database/service?sslmode=disable' }, max: 3 })
    const quota = new Quota(sql)
    const secret = Buffer.alloc(32, 7)
    const app = createApp({
      sql,
      quota,
      logger: { info: () => {}, warn: () => {}, error: () => {} } as never,
      config: {
        ipStorage: 'truncated',
        trustProxy: [],
        edgeCountryHeader: null,
        edgeRegionHeader: null,
        holidays: [],
        dashboard: false,
        purgeAfterDays: 30,
      },
      geo: { lookup: () => nowhere },
      signer: null as never,
      cursorSecret: secret,
      consentTokenSecret: secret,
      sessionSecret: secret,
      subjectSecret: secret,
      originSecret: secret,
    })
    Object.defineProperty(app.server, 'listening', { get: () => this.isListening })
    const sockets = new Set<StreamSocket>()
    app.server.closeAllConnections = () => {
      for (const socket of sockets) socket.destroy()
    }
    this.listener.accept = end => {
      const socket = new StreamSocket(end)
      sockets.add(socket.once('close', () => sockets.delete(socket)))
      app.server.emit('connection', socket)
    }
    this.#stop = async () => {
      await drain(app)
      await quota.settle()
      await sql.end({ timeout: 2 })
    }
  }

  /** As the service stops. */
  async stop(): Promise<void> {
    this.isStopping = true
    await this.#stop?.()
    this.process.kill()
    this.#world.remove(this)
  }
}
