import { randomUUID } from 'node:crypto'
import { linkSync, renameSync, rmSync } from 'node:fs'
import { connect, createServer, type Server } from 'node:net'
import { join } from 'node:path'

/**
 * Takes a folder for this process alone, and resolves to what gives it back; to `null` while another process has it.
 * The lock is a Unix socket that its owner listens on: the system drops it with the process, however that ends, and
 * it holds between containers that share the folder, where process ids mean nothing.
 */
export async function lockFolder(folder: string): Promise<(() => Promise<void>) | null> {
  const path = join(folder, 'lock')
  const own = join(folder, `lock.${randomUUID().slice(0, 8)}`)
  const server = await listen(own)
  try {
    while (!linked(own, path)) if (await isHeld(path, `${own}.old`)) return await stop(server)
  } finally {
    rmSync(own, { force: true })
  }
  return async () => {
    rmSync(path, { force: true })
    await stop(server)
  }
}

/** Gives the socket its public name; linking is atomic and never replaces what is there. */
function linked(own: string, path: string): boolean {
  try {
    linkSync(own, path)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  }
}

/** Whether somebody listens; what a dead process left is taken away, by a rename, for two may find it at once. */
async function isHeld(path: string, aside: string): Promise<boolean> {
  if (await answers(path)) return true
  try {
    renameSync(path, aside)
  } catch {
    return false // gone meanwhile
  }
  const wasReplaced = await answers(aside)
  if (wasReplaced) linked(aside, path)
  rmSync(aside, { force: true })
  return wasReplaced
}

/** Whether a process listens on a Unix socket. */
export function answers(path: string): Promise<boolean> {
  return new Promise(resolve => {
    const socket = connect(path)
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false))
    socket.once('connect', () => socket.destroy())
  })
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
