import { type Failure, unavailable } from './failure.ts'

/** How long a request waits for its turn, in milliseconds. */
const patience = 1000

export interface AdmissionLimits {
  /** Requests in flight at most. */
  readonly running: number
  /** Of those, for one tenant at most: the others must find room. */
  readonly perTenant: number
  /** Requests of one tenant that wait at most. */
  readonly waiting: number
}

export interface Load {
  /** Requests in flight. */
  readonly running: number
  /** Requests that wait for their turn. */
  readonly waiting: number
  /** How many were refused for want of room, ever. */
  readonly shed: number
}

interface Waiter {
  readonly start: () => void
}

interface Tenant {
  running: number
  readonly waiting: Set<Waiter>
}

/**
 * Which requests may work at once. Those over the limit wait for a short while, tenant by tenant in turn, so that one
 * that sends much delays itself and not the others; what cannot wait is told so at once.
 */
export class Admission {
  readonly #limits: AdmissionLimits
  readonly #tenants = new Map<string, Tenant>()
  #running = 0
  #shed = 0

  constructor(limits: AdmissionLimits) {
    this.#limits = limits
  }

  get load(): Load {
    let waiting = 0
    for (const tenant of this.#tenants.values()) waiting += tenant.waiting.size
    return { running: this.#running, waiting, shed: this.#shed }
  }

  /** Resolves when the request may work, to what must be called once it is done. Throws `unavailable`. */
  async enter(name: string, milliseconds = patience): Promise<() => void> {
    const tenant = this.#tenants.get(name) ?? { running: 0, waiting: new Set() }
    this.#tenants.set(name, tenant)
    if (this.#mayStart(tenant)) this.#start(tenant)
    else await this.#wait(name, tenant, Math.min(milliseconds, patience))
    let isDone = false
    return () => {
      if (isDone) return
      isDone = true
      this.#leave(name, tenant)
    }
  }

  /** Does work in its turn, and leaves when it is done. */
  async run<T>(name: string, work: () => Promise<T>): Promise<T> {
    const leave = await this.enter(name)
    try {
      return await work()
    } finally {
      leave()
    }
  }

  #mayStart({ running }: Tenant): boolean {
    return this.#running < this.#limits.running && running < this.#limits.perTenant
  }

  #start(tenant: Tenant): void {
    this.#running += 1
    tenant.running += 1
  }

  #wait(name: string, tenant: Tenant, milliseconds: number): Promise<void> {
    if (tenant.waiting.size >= this.#limits.waiting) throw this.#busy()
    return new Promise((resolve, reject) => {
      const waiter = {
        start: () => {
          clearTimeout(timer)
          this.#start(tenant)
          resolve()
        },
      }
      const timer = setTimeout(() => {
        tenant.waiting.delete(waiter)
        this.#dropIdle(name, tenant)
        reject(this.#busy())
      }, milliseconds)
      tenant.waiting.add(waiter)
    })
  }

  #leave(name: string, tenant: Tenant): void {
    this.#running -= 1
    tenant.running -= 1
    this.#dropIdle(name, tenant)
    this.#startNext()
  }

  #dropIdle(name: string, { running, waiting }: Tenant): void {
    if (running === 0 && waiting.size === 0) this.#tenants.delete(name)
  }

  /** The tenant that had its turn goes to the end of the line. */
  #startNext(): void {
    for (const [name, tenant] of this.#tenants) {
      const [waiter] = tenant.waiting
      if (!waiter || !this.#mayStart(tenant)) continue
      tenant.waiting.delete(waiter)
      this.#tenants.delete(name)
      this.#tenants.set(name, tenant)
      waiter.start()
      return
    }
  }

  #busy(): Failure {
    this.#shed += 1
    return unavailable('The service has more to do than it can at the moment.')
  }
}
