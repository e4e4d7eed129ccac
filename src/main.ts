import { type Command, CommanderError } from 'commander'
import packageJson from '../package.json' with { type: 'json' }
import type { Context, Globals } from './context.ts'
import type { ServerModule } from './contract/server.ts'
import { type Host, type Io, openIo } from './io/io.ts'
import { buildProgram, describeCommands, rejectKeys } from './program.ts'

/**
 * Resolves to the exit code and reports every error. `onConnected`: after a command that connected. `describeBuild`:
 * the line of --version.
 */
export async function main(
  host: Host,
  loadServer: () => Promise<ServerModule>,
  onConnected = () => {},
  describeBuild: () => string | Uint8Array = () => `${packageJson.version}\n`,
): Promise<number> {
  const argv = host.argv.slice(2)
  const { version } = packageJson
  let globals = (): Globals => ({})
  let helpFor: Command | undefined
  let ctx: Context | undefined
  const io = openIo(host, () => globals().color ?? 'auto')
  const context = async () => {
    const { createContext } = await import('./context.ts')
    ctx ??= createContext({ host, io, loadServer, describeCommands, version, globals: () => globals() })
    return ctx
  }
  try {
    if (argv.some(word => /^--json(=|$)|^(-o|--output=)?(nd)?json$/.test(word))) globals = () => ({ json: true })
    rejectKeys(argv)
    const onHelp = (command: Command) => {
      helpFor = command
    }
    const program = await buildProgram(new Set(argv), version, onHelp, context)
    globals = () => program.opts()
    await program.parseAsync(argv, { from: 'user' }).catch(async (error: unknown) => {
      if (!isHelp(error)) throw error
      if (isVersion(error)) await io.out.write(describeBuild())
      else if (helpFor) await io.out.write(await helpOf(helpFor, host, io.out))
    })
    return ctx?.exit ?? 0
  } catch (error) {
    const [{ exitOf, fromCommander }, { report }] = await Promise.all([
      import('./errors/explain.ts'),
      import('./errors/report.ts'),
    ])
    const reported = error instanceof CommanderError ? fromCommander(error) : error
    // The exit code must be right even if stderr is closed.
    await report({ io, host, globals: globals() }, reported).catch(() => {})
    return exitOf(reported)
  } finally {
    await ctx?.close()
    if (ctx?.isConnected) onConnected()
  }
}

/** A group without a command also prints help. */
function isHelp(error: unknown): boolean {
  return error instanceof CommanderError && (error.exitCode === 0 || error.code === 'commander.help')
}

function isVersion(error: unknown): boolean {
  return error instanceof CommanderError && error.code === 'commander.version'
}

async function helpOf(command: Command, host: Host, look: Io['out']): Promise<string> {
  const [{ describe }, { screenOf }, { hasProfile }] = await Promise.all([
    import('./docs/describe.ts'),
    import('./docs/help.ts'),
    import('./settings/store.ts'),
  ])
  const info = describe(command)
  const isSignedIn = command.parent === null && hasProfile(host)
  const examples = isSignedIn ? info.examples.filter(example => !/ auth login /.test(example)) : info.examples
  return screenOf({ ...info, examples }, look)
}
