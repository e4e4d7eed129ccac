// Injected by the bundler in place of Node's globals of these names.
import { current, type Immediate, Timer } from '../scheduler.ts'

type Call = (...args: unknown[]) => void

export const setTimeout = (call: Call, ms = 0, ...args: unknown[]) => new Timer(() => call(...args), ms)
export const setInterval = (call: Call, ms = 0, ...args: unknown[]) => new Timer(() => call(...args), ms, true)
export const setImmediate = (call: Call, ...args: unknown[]) => current().immediate(() => call(...args))
export const clearTimeout = (timer?: Timer | null) => timer?.close()
export const clearInterval = clearTimeout
export const clearImmediate = (immediate?: Immediate | null) => {
  if (immediate) immediate.isCancelled = true
}

/** A process's clock may be wrong; `performance` is not. */
function now(): number {
  const { startedAt, now: elapsed, process } = current()
  return Math.trunc(startedAt + elapsed + process.clockOffsetMs)
}

const RealDate = globalThis.Date
const SimulatedDate = new Proxy(RealDate, {
  construct: (target, args, newTarget) => Reflect.construct(target, args.length === 0 ? [now()] : args, newTarget),
  get: (target, name) => (name === 'now' ? now : Reflect.get(target, name)),
})

export { SimulatedDate as Date }

export const performance = { now: () => current().now }

export const simulatedRandom = () => current().productRandom.next()

export const crypto = {
  randomUUID: () => {
    const { productRandom } = current()
    const word = () => productRandom.uint32().toString(16).padStart(8, '0')
    const hex = word() + word() + word() + word()
    return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20)}`
  },
}
