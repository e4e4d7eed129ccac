import { readFile } from 'node:fs/promises'
import { hostname } from 'node:os'
import type { Host } from '../io/io.ts'

/** Which process works on a job: a pid alone is that of another one after a while, or in another container. */
export interface Holder {
  readonly pid: number
  readonly host: string
  /** When it was started, in a form that only compares; null where the system does not tell. */
  readonly started: string | null
}

export async function holderOf(pid: number): Promise<Holder> {
  return { pid, host: hostname(), started: await startOf(pid) }
}

/** The holder that a header tells; null where it is older, and tells a pid alone. */
export function readHolder(entry: unknown, pid: number): Holder | null {
  const { holder } = entry as { holder?: Partial<Holder> | null }
  if (typeof holder?.host !== 'string') return null
  return { pid, host: holder.host, started: typeof holder.started === 'string' ? holder.started : null }
}

/** Whether a process of this machine still works on its job, and is not the one that asks. */
export async function isAtWork(
  self: Pick<Host, 'pid' | 'kill'>,
  pid: number,
  started: string | null,
): Promise<boolean> {
  if (pid === self.pid || !isAlive(self, pid)) return false
  const now = await startOf(pid)
  return started === null || now === null || started === now
}

function isAlive(self: Pick<Host, 'kill'>, pid: number): boolean {
  try {
    self.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM' // somebody else's
  }
}

/** By the boot and the ticks since then, which Linux tells (proc(5)); the name before them may hold anything. */
async function startOf(pid: number): Promise<string | null> {
  try {
    const boot = await readFile('/proc/sys/kernel/random/boot_id', 'utf8')
    const stat = await readFile(`/proc/${pid}/stat`, 'utf8')
    const ticks = stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19]
    return ticks === undefined ? null : `${boot.trim()}:${ticks}`
  } catch {
    return null
  }
}
