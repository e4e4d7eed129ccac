import { freePort } from '../support/postgres.ts'
import { type ServerProcess, startServer } from '../support/server.ts'

/** Server processes on one database, each on a port that it keeps. */
export interface Nodes {
  readonly urls: readonly string[]
  /** Resolves to a node's exit code, or the name of the signal that ended it. */
  stop(node: number, signal: 'SIGTERM' | 'SIGKILL'): Promise<number | string>
  start(node: number): Promise<void>
  /** Kills every one that runs. */
  end(): Promise<void>
}

export async function startNodes(count: number, databaseUrl: string, env: Record<string, string>): Promise<Nodes> {
  const ports: number[] = []
  const running = new Map<number, ServerProcess>()
  const start = async (node: number) => {
    const args = ['--database-url', databaseUrl, '--port', String(ports[node])]
    running.set(node, await startServer(args, env))
  }
  const stop = async (node: number, signal: 'SIGTERM' | 'SIGKILL') => {
    const server = running.get(node)
    running.delete(node)
    return (await server?.end(signal)) ?? 'not running'
  }
  for (let node = 0; node < count; node += 1) {
    ports.push(await freePort())
    await start(node)
  }
  return {
    urls: ports.map(port => `http://127.0.0.1:${port}`),
    start,
    stop,
    end: async () => {
      await Promise.all([...running.keys()].map(node => stop(node, 'SIGKILL')))
    },
  }
}
