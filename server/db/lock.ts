import { randomUUID } from 'node:crypto'
import { linkSync, readdirSync, rmSync } from 'node:fs'
import { connect, createServer, type Server } from 'node:net'
import { join } from 'node:path'

/**
 * Takes a folder for this process alone, and resolves to what gives it back; to `null` while another process has it.
 *
 * The lock is a Unix socket that its owner listens on: the system drops it with the process, however that ends, and it
 * holds between containers that share the folder, where process ids mean nothing. It is named `lock.<number>`; the
 * highest number counts. Whoever finds that one dead links its own socket under the next number, which only one can do.
 * No name is ever moved or used again, so numbers only grow: a release leaves its file behind.
 */
export async function lockFolder(folder: string): Promise<(() => Promise<void>) | null> {
  const own = join(folder, `lock-${randomUUID().slice(0, 8)}`)
  const server = await listen(own)
  try {
    for (;;) {
      const highest = numbers(folder).at(-1) ?? 0
      if (highest > 0 && (await answers(lockAt(folder, highest)))) return await stop(server)
      const mine = highest + 1
      if (!linked(own, lockAt(folder, mine))) continue
      const [last = mine, ...lower] = numbers(folder).reverse()
      if (last === mine) {
        for (const number of lower) rmSync(lockAt(folder, number), { force: true })
        return async () => void (await stop(server))
      }
      rmSync(lockAt(folder, mine), { force: true }) // made from an old look at the folder: others are ahead
    }
  } finally {
    rmSync(own, { force: true })
  }
}

/** Whether a process listens on a Unix socket. */
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

/** The numbers of the locks in a folder, lowest first. */
function numbers(folder: string): number[] {
  const found = readdirSync(folder).map(name => /^lock\.(\d+)$/.exec(name)?.[1])
  return found
    .filter(number => number !== undefined)
    .map(Number)
    .sort((a, b) => a - b)
}

/** Links a name to a socket, unless the name is taken. */
function linked(own: string, path: string): boolean {
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
