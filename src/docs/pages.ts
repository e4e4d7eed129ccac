import type { Command } from 'commander'

const pages = new WeakMap<Command, () => Promise<string>>()

/** Adds a Markdown page, loaded only by `help`, to the full help of a command. */
export function addPage(command: Command, load: () => Promise<{ readonly default: string }>): void {
  pages.set(command, async () => (await load()).default)
}

/** Null without a page. */
export async function pageOf(command: Command): Promise<string | null> {
  return (await pages.get(command)?.()) ?? null
}
