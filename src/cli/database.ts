import type { Command } from 'commander'
import type { Context } from '../context.ts'
import type { ServerHost } from '../contract/server.ts'
import { nonEmpty } from './action.ts'

export const databaseOptions = { databaseUrl: nonEmpty.optional(), dataDir: nonEmpty.optional() }

export function addDatabaseFlags(command: Command): Command {
  return command
    .option('--database-url <url>', 'a PostgreSQL server (DATABASE_URL)')
    .option('--data-dir <folder>', 'the folder of the embedded database (CONSENTCTL_DATA_DIR)')
}

export function serverHost(ctx: Context): ServerHost {
  let stop: (() => void) | undefined
  const start = async (what: string) => {
    const { isTerminal, stream } = ctx.io.err
    const isSized = (stream as Partial<NodeJS.WriteStream>).columns !== 0 // some terminals report no width
    if (!isTerminal || !isSized) return ctx.say(`${what} …`)
    const { default: ora } = await import('ora')
    if (stop === undefined) return
    const spinner = ora({ text: what, stream: ctx.io.err.stream as NodeJS.WriteStream, color: false }).start()
    stop = () => spinner.stop()
  }
  return {
    env: ctx.host.env,
    onDefault: what => void ctx.say(`working on ${what}`),
    onWait: what => {
      stop?.()
      stop = what === null ? undefined : () => {}
      if (what !== null) void start(what)
    },
  }
}
