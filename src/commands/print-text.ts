import type { Context } from '../context.ts'

/** Prints a text as it is: on standard output, or into the file of `--out`, which gets its name when it is whole. */
export async function printingText(ctx: Context, run: () => Promise<string>): Promise<void> {
  const { out } = ctx.globals
  if (out === undefined) return await ctx.io.out.write(await run())
  const { openOutFile } = await import('../io/out-file.ts')
  const file = await openOutFile(out)
  try {
    await file.write(await run())
    await file.commit()
  } catch (error) {
    await file.abandon(false)
    throw error
  }
  await ctx.say(`wrote ${out}`)
}
