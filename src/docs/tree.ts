import type { Context } from '../context.ts'
import { buildProgram, everything } from '../program.ts'
import { type CommandInfo, describe } from './describe.ts'

/** The whole tree of commands as plain data. Loads every command, and runs none. */
export async function describeTree(): Promise<CommandInfo> {
  const noContext = async () => ({}) as Context // a command touches it only when it runs
  return describe(await buildProgram(everything, '', () => {}, noContext))
}
