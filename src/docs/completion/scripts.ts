import type { CommandInfo } from '../describe.ts'
import { bash } from './bash.ts'
import { fish } from './fish.ts'
import { powershell } from './powershell.ts'
import type { ShellName } from './shells.ts'
import { zsh } from './zsh.ts'

export const scripts: Record<ShellName, (tree: CommandInfo) => string> = { bash, zsh, fish, powershell }

export const fileNames: Record<ShellName, string> = {
  bash: 'consentctl.bash',
  zsh: '_consentctl',
  fish: 'consentctl.fish',
  powershell: 'consentctl.ps1',
}
