import { CommanderError } from 'commander'
import packageJson from '../package.json' with { type: 'json' }
import type { Context, Globals } from './context.ts'
import type { ServerModule } from './contract/server.ts'
import type { Host } from './io/io.ts'
import { buildProgram } from './program.ts'

/** Runs the command line and resolves to the exit code. The only place where every error ends. */
export async function main(host: Host, loadServer: () => Promise<ServerModule>): Promise<number> {
  const argv = host.argv.slice(2)
  const { version } = packageJson
  let globals = (): Globals => ({})
  let ctx: Context | undefined
  const context = async () => {
    const { createContext } = await import('./context.ts')
    ctx ??= createContext({ host, loadServer, version, globals: () => globals() })
    return ctx
  }
  try {
    const program = await buildProgram(argv, version, text => host.stdout.write(text), context)
    globals = () => program.opts()
    await program.parseAsync(argv, { from: 'user' })
    return ctx?.exit ?? 0
  } catch (error) {
    if (error instanceof CommanderError && isHelp(error)) return 0
    const [{ exitOf, fromCommander }, { report }] = await Promise.all([
      import('./explain.ts'),
      import('./report.ts'),
    ])
    const told = error instanceof CommanderError ? fromCommander(error) : error
    const { io, host, globals } = await context()
    await report({ io, host, globals }, told, undefined, keySourceOf(ctx))
    return exitOf(told)
  } finally {
    await ctx?.api.close()
  }
}

/** Where the key came from, if it was looked for at all without trouble. */
function keySourceOf(ctx: Context | undefined): string | undefined {
  try {
    return ctx?.settings.apiKey?.source
  } catch {
    return undefined
  }
}

/** Help and version that were asked for; a bare group is a way of asking too. */
function isHelp({ code, exitCode }: CommanderError): boolean {
  return exitCode === 0 || code === 'commander.help'
}
