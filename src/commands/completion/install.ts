import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { Argument, type Command } from 'commander'
import * as z from 'zod'
import { action } from '../../cli/action.ts'
import type { Context } from '../../context.ts'
import { type ShellName, shellNames } from '../../docs/completion/names.ts'
import { completionFile } from '../../docs/completion/scripts.ts'
import { settingsError, usageError } from '../../errors/errors.ts'
import { canPrompt, declinedError, prompt } from '../../io/prompt.ts'

const Options = z.strictObject({
  operands: z.tuple([z.enum(shellNames)]).optional(),
  yes: z.literal(true).optional(),
})

export function install(command: Command, ctx: Context): void {
  command
    .addArgument(new Argument('[shell]', 'the shell (SHELL)').choices([...shellNames]))
    .option('-y, --yes', 'skip the confirmation prompt')
    .description(`
Writes one file and changes no other. If your shell needs a line in its startup file, prints it.

Examples:
  $ consentctl completion install
  $ consentctl completion install fish --yes`)
    .action(action(ctx, Options, run))
}

async function run(ctx: Context, { operands, yes }: z.output<typeof Options>) {
  const shell = operands?.[0] ?? shellOf(ctx)
  const { file, hint } = targetOf(ctx, shell)
  const [, script] = completionFile(shell, await ctx.describeCommands())
  const before = contentOf(file)
  if (before === script) return await ctx.say(`${file} is up to date`)
  if (!yes) await promptToWrite(ctx, file, before !== null)
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, script)
  await ctx.say(`wrote ${file}`)
  if (hint) await ctx.say(hint)
}

/** Includes a hint if the shell may not look there. */
function targetOf({ host: { env, platform } }: Context, shell: ShellName): { file: string; hint?: string } {
  const home = env['HOME'] ?? env['USERPROFILE']
  if (!home) throw settingsError('no home folder', `print the script with consentctl completion ${shell}`)
  const config = env['XDG_CONFIG_HOME'] || join(home, '.config')
  const data = env['XDG_DATA_HOME'] || join(home, '.local', 'share')
  switch (shell) {
    case 'bash':
      return {
        file: join(data, 'bash-completion', 'completions', 'consentctl'),
        hint: 'bash reads it if the package bash-completion is installed; otherwise add to ~/.bashrc: source <(consentctl completion bash)',
      }
    case 'zsh': {
      const folder = join(env['ZDOTDIR'] || home, '.zfunc')
      return {
        file: join(folder, '_consentctl'),
        hint: `if missing, add to ~/.zshrc, before compinit: fpath+=(${folder})`,
      }
    }
    case 'fish':
      return { file: join(config, 'fish', 'completions', 'consentctl.fish') }
    case 'powershell': {
      const folder = platform === 'win32' ? join(home, 'Documents', 'PowerShell') : join(config, 'powershell')
      const file = join(folder, 'consentctl.ps1')
      return { file, hint: `if missing, add to $PROFILE: . '${file}'` }
    }
  }
}

function shellOf({ host: { env, platform } }: Context): ShellName {
  const name = /([^/\\]+?)(?:\.exe)?$/.exec(env['SHELL'] ?? '')?.[1] ?? (platform === 'win32' ? 'powershell' : '')
  const shell = shellNames.find(each => each === (name === 'pwsh' ? 'powershell' : name))
  if (shell) return shell
  throw usageError(`no completions for ${name || 'an unknown shell'}`, `use one of ${shellNames.join(', ')}`)
}

function contentOf(file: string): string | null {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return null // missing or unreadable
  }
}

async function promptToWrite({ io, interruption }: Context, file: string, isThere: boolean): Promise<void> {
  if (!canPrompt(io)) throw usageError('cannot prompt: stdin and stderr must be a terminal', 'use --yes')
  const answer = await prompt(io, `${isThere ? 'Replace' : 'Write'} ${file}? [y/N] `, interruption)
  if (!/^y(es)?$/i.test(answer.trim())) throw declinedError()
}
