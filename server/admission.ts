import { type Failure, unavailable } from './failure.ts'

const defaultMaxWaitMs = 1000

export interface AdmissionLimits {
  readonly running: number
  readonly perTenant: number
  readonly waiting: number
  /** Default: 1 s. */
  readonly maxWaitMs?: number
  readonly message?: string
}

export interface Load {
  readonly running: number
  readonly waiting: number
  readonly shed: number
}

interface Tenant {
  running: number
  readonly waiting: Set<() => void>
}

/** Concurrency limit with a short queue per tenant, served round-robin. A full queue rejects immediately. */
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

  /**
   * Returns a function that releases the slot.
   * @throws Failure `unavailable` if the queue is full, or after `timeoutMs`
   */
  async enter(name: string, timeoutMs = Number.POSITIVE_INFINITY): Promise<() => void> {
    const { maxWaitMs = defaultMaxWaitMs } = this.#limits
    const tenant = this.#tenants.get(name) ?? { running: 0, waiting: new Set() }
    this.#tenants.set(name, tenant)
    if (this.#mayStart(tenant)) this.#start(tenant)
    else await this.#wait(name, tenant, Math.min(timeoutMs, maxWaitMs))
    let isReleased = false
    return () => {
      if (isReleased) return
      isReleased = true
      this.#leave(name, tenant)
    }
  }

  async run<T>(name: string, work: () => Promise<T>): Promise<T> {
    const release = await this.enter(name)
    try {
      return await work()
    } finally {
      release()
    }
  }

  #mayStart({ running }: Tenant): boolean {
    return this.#running < this.#limits.running && running < this.#limits.perTenant
  }

  #start(tenant: Tenant): void {
    this.#running += 1
    tenant.running += 1
  }

  #wait(name: string, tenant: Tenant, timeoutMs: number): Promise<void> {
    if (tenant.waiting.size >= this.#limits.waiting) throw this.#shedRequest()
    return new Promise((resolve, reject) => {
      const start = () => {
        clearTimeout(timer)
        this.#start(tenant)
        resolve()
      }
      const timer = setTimeout(() => {
        tenant.waiting.delete(start)
        this.#dropIdle(name, tenant)
        reject(this.#shedRequest())
      }, timeoutMs)
      tenant.waiting.add(start)
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

  #startNext(): void {
    for (const [name, tenant] of this.#tenants) {
      const [start] = tenant.waiting
      if (!start || !this.#mayStart(tenant)) continue
      tenant.waiting.delete(start)
      this.#tenants.delete(name)
      this.#tenants.set(name, tenant)
      start()
      return
    }
  }

  #shedRequest(): Failure {
    this.#shed += 1
    return unavailable(this.#limits.message ?? 'The service is overloaded.')
  }
}
