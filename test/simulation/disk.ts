// The disk of a simulated machine. A killed process loses what it had not written; a power cut loses what was not flushed, or
// leaves a part of it, or zeros in its place.
import { current } from './scheduler.ts'

class Inode {
  bytes: Buffer = Buffer.alloc(0)
  flushed: Buffer = Buffer.alloc(0)
  changedAt = 0
}

interface Folder {
  readonly names: Map<string, Inode>
  flushed: Map<string, Inode>
}

export class Machine {
  readonly hostname: string
  /** Chance that a write or a flush fails. */
  faulty = 0
  /** Running processes by pid, with the time of their start. */
  readonly processes = new Map<number, string>()
  readonly #folders = new Map<string, Folder>([['/', { names: new Map(), flushed: new Map() }]])

  constructor(hostname: string) {
    this.hostname = hostname
  }

  cutPower(): void {
    const { random } = current()
    this.processes.clear()
    for (const [path, folder] of this.#folders) {
      const names = new Map(folder.flushed)
      for (const [name, inode] of folder.names) if (random.chance(0.5)) names.set(name, inode)
      for (const name of folder.flushed.keys()) if (!folder.names.has(name) && random.chance(0.5)) names.delete(name)
      this.#folders.set(path, { names, flushed: new Map(names) })
      for (const inode of new Set([...names.values(), ...folder.names.values()])) {
        const kept = inode.flushed.length
        const tail = Buffer.from(inode.bytes.subarray(kept, random.int(kept, inode.bytes.length)))
        if (random.chance(0.3)) tail.fill(0, random.int(0, tail.length))
        inode.bytes = Buffer.concat([inode.flushed, random.chance(0.3) ? tail.subarray(0, 0) : tail])
        inode.flushed = inode.bytes
      }
    }
  }

  folder(path: string): Folder {
    const folder = this.#folders.get(path)
    if (!folder) throw failure('ENOENT', path)
    return folder
  }

  find(path: string): Inode {
    const inode = this.#folders.get(parentOf(path))?.names.get(nameOf(path))
    if (!inode) throw failure('ENOENT', path)
    return inode
  }

  /** Returns the first folder made. */
  makeFolder(path: string): string | undefined {
    if (this.#folders.has(path)) return undefined
    const first = this.makeFolder(parentOf(path))
    this.#folders.set(path, { names: new Map(), flushed: new Map() })
    return first ?? path
  }

  isFolder(path: string): boolean {
    return this.#folders.has(path)
  }

  write(path: string, content: Buffer): void {
    this.makeFolder(parentOf(path))
    const { names, flushed } = this.folder(parentOf(path))
    const inode = new Inode()
    inode.bytes = content
    inode.flushed = content
    names.set(nameOf(path), inode)
    flushed.set(nameOf(path), inode)
  }
}

function parentOf(path: string): string {
  return path.slice(0, path.lastIndexOf('/')) || '/'
}

function nameOf(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1)
}

function failure(code: string, path: string): Error {
  return Object.assign(new Error(`${code}: ${path}`), { code })
}

const machines = new Map<number, Machine>()

/** Puts the process on a machine. */
export function place(pid: number, machine: Machine): void {
  machines.set(pid, machine)
  machine.processes.set(pid, String(Math.trunc(current().now * 1000)))
}

function machine(): Machine {
  return machines.get(current().process.pid) as Machine
}

/** Runs an operation of the disk, which is carried out when it ends. */
async function operation<T>(label: string, run: (machine: Machine) => T): Promise<T> {
  const scheduler = current()
  await scheduler.sleep(scheduler.random.latency(0.02, 4), label)
  return run(machine())
}

function requireHealthy({ faulty }: Machine): void {
  if (current().random.chance(faulty)) throw failure('ENOSPC', 'no space left on device')
}

class FileHandle {
  readonly #inode: Inode | null
  readonly #path: string

  constructor(path: string, inode: Inode | null) {
    this.#path = path
    this.#inode = inode
  }

  get #file(): Inode {
    return this.#inode as Inode
  }

  write(bytes: Buffer, offset: number, length: number): Promise<{ bytesWritten: number }> {
    return operation(`write ${this.#path}`, on => {
      requireHealthy(on)
      const bytesWritten = current().random.chance(0.1) ? current().random.int(1, length) : length
      this.#append(bytes.subarray(offset, offset + bytesWritten))
      return { bytesWritten }
    })
  }

  async writeFile(content: Buffer): Promise<void> {
    for (let at = 0; at < content.length; ) at += (await this.write(content, at, content.length - at)).bytesWritten
  }

  #append(bytes: Buffer): void {
    this.#file.bytes = Buffer.concat([this.#file.bytes, bytes])
    this.#file.changedAt = Date.now()
  }

  read(buffer: Buffer, offset: number, length: number, position: number) {
    return operation(`read ${this.#path}`, () => {
      const bytes = this.#file.bytes.subarray(position, position + length)
      bytes.copy(buffer, offset)
      return { bytesRead: bytes.length, buffer }
    })
  }

  stat() {
    return operation(`stat ${this.#path}`, () => statOf(this.#file))
  }

  sync(): Promise<void> {
    return operation(`flush ${this.#path}`, on => {
      if (!this.#inode) {
        const folder = on.folder(this.#path)
        folder.flushed = new Map(folder.names)
        return
      }
      requireHealthy(on)
      this.#inode.flushed = this.#inode.bytes
    })
  }

  datasync(): Promise<void> {
    return this.sync()
  }

  close(): Promise<void> {
    return operation(`close ${this.#path}`, () => {})
  }
}

function statOf({ bytes, changedAt }: Inode) {
  return {
    size: bytes.length,
    mtimeMs: changedAt,
    mtimeNs: BigInt(Math.trunc(changedAt)) * 1_000_000n,
    isFile: () => true,
  }
}

export function open(path: string, flags: string | number = 'r'): Promise<FileHandle> {
  return operation(`open ${path}`, on => {
    if (on.isFolder(path)) return new FileHandle(path, null)
    if (flags !== 'ax') return new FileHandle(path, on.find(path))
    const { names } = on.folder(parentOf(path))
    if (names.has(nameOf(path))) throw failure('EEXIST', path)
    const inode = new Inode()
    inode.changedAt = Date.now()
    names.set(nameOf(path), inode)
    return new FileHandle(path, inode)
  })
}

export async function writeFile(path: string, text: string): Promise<void> {
  const file = await open(path, 'ax')
  await file.writeFile(Buffer.from(text))
}

export function stat(path: string) {
  return operation(`stat ${path}`, on => statOf(on.find(path)))
}

export const lstat = stat

export function mkdir(path: string): Promise<string | undefined> {
  return operation(`mkdir ${path}`, on => on.makeFolder(path))
}

export function readdir(path: string): Promise<string[]> {
  return operation(`readdir ${path}`, on => [...on.folder(path).names.keys()])
}

export function rm(path: string): Promise<void> {
  return operation(`rm ${path}`, on => void on.folder(parentOf(path)).names.delete(nameOf(path)))
}

export function link(from: string, to: string): Promise<void> {
  return operation(`link ${to}`, on => {
    const { names } = on.folder(parentOf(to))
    if (names.has(nameOf(to))) throw failure('EEXIST', to)
    names.set(nameOf(to), on.find(from))
  })
}

export function rename(from: string, to: string): Promise<void> {
  return operation(`rename ${to}`, on => {
    on.folder(parentOf(to)).names.set(nameOf(to), on.find(from))
    on.folder(parentOf(from)).names.delete(nameOf(from))
  })
}

/** The file of Linux that identifies a process. */
export function readFile(path: string): Promise<string> {
  return operation(`read ${path}`, ({ processes }) => {
    const started = processes.get(Number(/^\/proc\/(\d+)\/stat$/.exec(path)?.[1]))
    if (started === undefined) throw failure('ENOENT', path)
    return `1 (node) S ${'0 '.repeat(18)}${started} 0`
  })
}

export async function* createReadStream(path: string): AsyncGenerator<Buffer> {
  const { random } = current()
  const inode = await operation(`open ${path}`, on => on.find(path))
  for (let position = 0; ; ) {
    const size = random.chance(0.5) ? random.int(1, 400) : 65_536
    const bytes = await operation(`read ${path}`, () => inode.bytes.subarray(position, position + size))
    if (bytes.length === 0) return
    position += bytes.length
    yield bytes
  }
}

/** As `process.kill` with the signal 0. */
export function requireRunning(pid: number): void {
  if (!machine().processes.has(pid)) throw failure('ESRCH', String(pid))
}

export const hostname = () => machine().hostname
export const platform = () => 'linux'
export const setFlagsFromString = () => {}
