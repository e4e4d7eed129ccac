import { randomUUID } from 'node:crypto'
import { linkSync, readdirSync, rmSync } from 'node:fs'
import { connect, createServer, type Server } from 'node:net'
import { join } from 'node:path'

/**
 * Returns a function that unlocks the folder, or null if another process holds the lock: a Unix socket on which its
 * owner listens, so that it ends with the process and works between containers. The highest number in `lock.<number>`
 * counts, and is never reused. A process that finds that socket dead links its own under the next number, which only
 * one can do.
 */
export async function lockFolder(folder: string): Promise<(() => Promise<void>) | null> {
  const own = join(folder, `lock-${randomUUID().slice(0, 8)}`)
  const server = await listen(own)
  try {
    for (;;) {
      const highest = listLocks(folder).at(-1) ?? 0
      if (highest > 0 && (await answers(lockAt(folder, highest)))) return await stop(server)
      const mine = highest + 1
      if (!tryLink(own, lockAt(folder, mine))) continue
      const [last = mine, ...lower] = listLocks(folder).reverse()
      if (last === mine) {
        for (const number of lower) rmSync(lockAt(folder, number), { force: true })
        return async () => void (await stop(server))
      }
      rmSync(lockAt(folder, mine), { force: true })
    }
  } finally {
    rmSync(own, { force: true })
  }
}

export function answers(path: string): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const socket = connect(path)
    socket.once('connect', () => {
      socket.destroy()
      resolve(true)
    })
    socket.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'ECONNREFUSED' || error.code === 'ENOENT') resolve(false)
      else if (error.code === 'EAGAIN') resolve(true)
      else reject(error)
    })
  })
}

function lockAt(folder: string, number: number): string {
  return join(folder, `lock.${number}`)
}

function listLocks(folder: string): number[] {
  const found = readdirSync(folder).map(name => /^lock\.(\d+)$/.exec(name)?.[1])
  return found
    .filter(number => number !== undefined)
    .map(Number)
    .sort((a, b) => a - b)
}

function tryLink(own: string, path: string): boolean {
  try {
    linkSync(own, path)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  }
}

function listen(path: string): Promise<Server> {
  const server = createServer(socket => socket.destroy())
  return new Promise((resolve, reject) => {
    server.once('error', reject).listen(path, () => resolve(server))
    server.unref()
  })
}

function stop(server: Server): Promise<null> {
  return new Promise(resolve => server.close(() => resolve(null)))
}
