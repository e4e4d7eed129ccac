import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { Argument, type Command } from 'commander'
import * as z from 'zod'
import { action } from '../../cli/action.ts'
import type { Context } from '../../context.ts'
import { scripts } from '../../docs/completion/scripts.ts'
import { type ShellName, shellNames } from '../../docs/completion/shells.ts'
import { settingsError, usageError } from '../../errors/errors.ts'
import { canPrompt, declinedError, prompt } from '../../io/prompt.ts'

const Options = z.strictObject({
  operands: z.tuple([z.enum(shellNames)]).optional(),
  yes: z.literal(true).optional(),
})

/** `completion install`: writes the script where the shell looks for it, after a question. */
export function install(command: Command, ctx: Context): void {
  command
    .addArgument(
      new Argument('[shell]', 'the shell; the one that SHELL names if not given').choices([...shellNames]),
    )
    .option('-y, --yes', 'skip the confirmation prompt')
    .addHelpText(
      'after',
      `
It writes one file of its own, and no other is touched: none of your shell's start-up files is edited.
What has to be added to one of them is printed.

Examples:
  $ consentctl completion install
  $ consentctl completion install fish --yes`,
    )
    .action(
      action(ctx, Options, async (_, { operands, yes }) => {
        const shell = operands?.[0] ?? shellOf(ctx)
        const { file, hint } = placeOf(ctx, shell)
        const script = scripts[shell](await ctx.describeCommands())
        const before = contentOf(file)
        if (before === script) {
          await ctx.say(`${file} is up to date`)
          return undefined
        }
        if (!yes) await confirmed(ctx, file, before !== null)
        mkdirSync(dirname(file), { recursive: true })
        writeFileSync(file, script)
        await ctx.say(`wrote ${file}`)
        if (hint) await ctx.say(hint)
        return undefined
      }),
    )
}

/** Where each shell looks for completions of one command, and what a user may have to add for it to look there. */
function placeOf({ host: { env, platform } }: Context, shell: ShellName): { file: string; hint?: string } {
  const home = env['HOME'] ?? env['USERPROFILE']
  if (!home)
    throw settingsError('there is no home folder', `consentctl completion ${shell} prints the script`)
  const config = env['XDG_CONFIG_HOME'] || join(home, '.config')
  const data = env['XDG_DATA_HOME'] || join(home, '.local', 'share')
  switch (shell) {
    case 'bash':
      return {
        file: join(data, 'bash-completion', 'completions', 'consentctl'),
        hint: 'bash reads it where the package bash-completion is installed; elsewhere add to ~/.bashrc: source <(consentctl completion bash)',
      }
    case 'zsh': {
      const folder = join(env['ZDOTDIR'] || home, '.zfunc')
      return {
        file: join(folder, '_consentctl'),
        hint: `if it is not there yet, add to ~/.zshrc, before compinit: fpath+=(${folder})`,
      }
    }
    case 'fish':
      return { file: join(config, 'fish', 'completions', 'consentctl.fish') }
    case 'powershell': {
      const folder = platform === 'win32' ? join(home, 'Documents', 'PowerShell') : join(config, 'powershell')
      const file = join(folder, 'consentctl.ps1')
      return { file, hint: `if it is not there yet, add to $PROFILE: . '${file}'` }
    }
  }
}

function shellOf({ host: { env, platform } }: Context): ShellName {
  const name =
    /([^/\\]+?)(?:\.exe)?$/.exec(env['SHELL'] ?? '')?.[1] ?? (platform === 'win32' ? 'powershell' : '')
  const shell = shellNames.find(each => each === (name === 'pwsh' ? 'powershell' : name))
  if (shell) return shell
  throw usageError(`no completions for ${name || 'an unknown shell'}`, `name one: ${shellNames.join(', ')}`)
}

function contentOf(file: string): string | null {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return null // there is none, or none that can be read: writing it will tell
  }
}

async function confirmed({ io, interruption }: Context, file: string, isThere: boolean): Promise<void> {
  if (!canPrompt(io)) throw usageError('cannot prompt: stdin and stderr must be a terminal', 'use --yes')
  const answer = await prompt(io, `${isThere ? 'Replace' : 'Write'} ${file}? [y/N] `, interruption)
  if (!/^y(es)?$/i.test(answer.trim())) throw declinedError()
}
