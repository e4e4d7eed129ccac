import { current, Timer } from '../scheduler.ts'

export function setTimeout<T>(
  ms: number,
  value?: T,
  { signal }: { signal?: AbortSignal } = {},
): Promise<T | undefined> {
  return new Promise((resolve, reject) => {
    const end = () => {
      timer.close()
      reject(
        Object.assign(new Error('The operation was aborted'), {
          name: 'AbortError',
          code: 'ABORT_ERR',
          cause: signal?.reason,
        }),
      )
    }
    const timer = new Timer(() => {
      signal?.removeEventListener('abort', end)
      resolve(value)
    }, ms)
    if (signal?.aborted) end()
    else signal?.addEventListener('abort', end, { once: true })
  })
}

export function setImmediate<T>(value?: T): Promise<T | undefined> {
  return new Promise(resolve => void current().immediate(() => resolve(value)))
}
