import type { Command } from 'commander'
import * as z from 'zod'
import { action } from '../../cli/action.ts'
import type { Context } from '../../context.ts'
import type { ShellName } from '../../docs/completion/names.ts'
import { completionFile } from '../../docs/completion/scripts.ts'

const uses: Record<ShellName, readonly [once: string, file: string]> = {
  bash: ['source <(consentctl completion bash)', '~/.local/share/bash-completion/completions/consentctl'],
  zsh: ['source <(consentctl completion zsh)', '~/.zfunc/_consentctl'],
  fish: ['consentctl completion fish | source', '~/.config/fish/completions/consentctl.fish'],
  powershell: ['consentctl completion powershell | Out-String | Invoke-Expression', 'consentctl.ps1'],
}

export function printer(shell: ShellName): (command: Command, ctx: Context) => void {
  const [once, file] = uses[shell]
  return (command, ctx) => {
    command
      .description(`
For one session: ${once}
For every session: consentctl completion install, or write it to a file.

Examples:
  $ consentctl completion ${shell} > ${file}
  $ consentctl completion install ${shell}`)
      .action(
        action(ctx, z.strictObject({}), async () => {
          await ctx.io.out.write(completionFile(shell, await ctx.describeCommands())[1])
        }),
      )
  }
}
