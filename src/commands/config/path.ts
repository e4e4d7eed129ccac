import { existsSync } from 'node:fs'
import type { Command } from 'commander'
import * as z from 'zod'
import { action } from '../../cli/action.ts'
import { many, pagesOf } from '../../cli/output.ts'
import type { Context } from '../../context.ts'
import { configFile, credentialsFile } from '../../settings/store.ts'
import { pathView } from '../../views/program.ts'

export function path(command: Command, ctx: Context): void {
  command
    .description(`
CONSENTCTL_CONFIG_DIR changes the folder of settings and keys, CONSENTCTL_STATE_DIR that of journals and receipts.

Examples:
  $ consentctl config path
  $ consentctl config path -o json`)
    .action(
      action(ctx, z.strictObject({}), pathView, async () => {
        const { folder, stateFolder } = ctx.settings
        const rows = [
          { name: 'config_folder', path: folder },
          { name: 'config_file', path: configFile(folder) },
          { name: 'credentials_file', path: credentialsFile(folder) },
          { name: 'state_folder', path: stateFolder },
        ]
        return many(pathView, pagesOf(rows.map(row => ({ ...row, exists: existsSync(row.path) }))))
      }),
    )
}
