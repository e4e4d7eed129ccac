import type { Command } from 'commander'
import { shellNames } from './completion/names.ts'
import type { Context } from './context.ts'
import { account } from './tree-account.ts'

export interface Leaf {
  /** One line for the help of its group, without a full stop. */
  readonly summary: string
  readonly aliases?: readonly string[]
  /** Gives the command its flags and its action. */
  readonly load: () => Promise<(command: Command, ctx: Context) => void>
}

export interface Branch {
  readonly summary: string
  readonly aliases?: readonly string[]
  readonly commands: Group
}

export type Group = Readonly<Record<string, Leaf | Branch>>

const shells = Object.fromEntries(
  shellNames.map(shell => [
    shell,
    {
      summary: `Print the completions for ${shell}`,
      load: async () => (await import('./commands/completion/print.ts')).printer(shell),
    },
  ]),
)

/** Every command there is. A new one is a file, and a line here. */
export const tree: Group = {
  create: {
    summary: 'Create a consent record, or many from a file',
    load: async () => (await import('./commands/consents/create.ts')).create,
  },
  list: {
    summary: 'List records, newest first',
    aliases: ['ls'],
    load: async () => (await import('./commands/consents/list.ts')).list,
  },
  get: {
    summary: 'Show records by their ids',
    load: async () => (await import('./commands/consents/get.ts')).get,
  },
  update: {
    summary: 'Change what a record accepts',
    load: async () => (await import('./commands/consents/update.ts')).update,
  },
  rm: {
    summary: 'Delete records, keeping their history',
    aliases: ['delete'],
    load: async () => (await import('./commands/consents/rm.ts')).rm,
  },
  history: {
    summary: 'Show the audit trail of records',
    load: async () => (await import('./commands/consents/history.ts')).history,
  },
  ...account,
  auth: {
    summary: 'Store, check and remove API keys',
    commands: {
      login: {
        summary: 'Store an API key in a profile: one you have, or a new one',
        load: async () => (await import('./commands/auth/login.ts')).login,
      },
      logout: {
        summary: 'Remove the key of a profile',
        load: async () => (await import('./commands/auth/logout.ts')).logout,
      },
      token: {
        summary: 'Print the key that would be sent, for scripts',
        load: async () => (await import('./commands/auth/token.ts')).token,
      },
      status: {
        summary: 'Tell which key is used, and whether it is valid',
        load: async () => (await import('./commands/auth/status.ts')).status,
      },
    },
  },
  config: {
    summary: 'Show and change the settings',
    commands: {
      list: {
        summary: 'List every setting and where it comes from',
        load: async () => (await import('./commands/config/list.ts')).list,
      },
      get: {
        summary: 'Print the value of one setting',
        load: async () => (await import('./commands/config/get.ts')).get,
      },
      set: {
        summary: 'Set what a profile holds',
        load: async () => (await import('./commands/config/set.ts')).set,
      },
      unset: {
        summary: 'Take something out of a profile',
        load: async () => (await import('./commands/config/unset.ts')).unset,
      },
      path: {
        summary: 'Tell where the files are',
        load: async () => (await import('./commands/config/path.ts')).path,
      },
      profiles: {
        summary: 'List the stored instances',
        load: async () => (await import('./commands/config/profiles.ts')).profiles,
      },
      remove: {
        summary: 'Forget a profile and its key',
        load: async () => (await import('./commands/config/remove.ts')).remove,
      },
    },
  },
  completion: {
    summary: 'Make the shell complete commands, flags and values',
    commands: {
      ...shells,
      install: {
        summary: 'Add the completions to your shell, after a question',
        load: async () => (await import('./commands/completion/install.ts')).install,
      },
      values: {
        summary: 'Print what stands in the local files for a kind of value',
        load: async () => (await import('./commands/completion/values.ts')).values,
      },
    },
  },
  commands: {
    summary: 'List every command, its flags and examples',
    load: async () => (await import('./commands/commands.ts')).commands,
  },
  doctor: {
    summary: 'Check the settings, the instance and the key',
    load: async () => (await import('./commands/doctor/doctor.ts')).doctor,
  },
  serve: {
    summary: 'Run the service',
    load: async () => (await import('./commands/serve.ts')).serve,
  },
  admin: {
    summary: 'Administer the database of a service',
    commands: {
      account: {
        summary: 'Administer accounts',
        commands: {
          create: {
            summary: 'Create an account with its owner, a site and an API key',
            load: async () => (await import('./commands/admin/account-create.ts')).accountCreate,
          },
        },
      },
      user: {
        summary: 'Administer users',
        commands: {
          password: {
            summary: 'Give a user a new password',
            load: async () => (await import('./commands/admin/user-password.ts')).userPassword,
          },
        },
      },
    },
  },
}
