import { shellNames } from '../completion/names.ts'
import type { Group } from './tree.ts'

const shells = Object.fromEntries(
  shellNames.map(shell => [
    shell,
    {
      summary: `Print the completions for ${shell}`,
      load: async () => (await import('../commands/completion/print.ts')).printer(shell),
    },
  ]),
)

/** What there is to the command line itself: its keys, settings and completions on this machine. */
export const local: Group = {
  auth: {
    summary: 'Store, check and remove API keys',
    commands: {
      login: {
        summary: 'Store an API key in a profile: one you have, or a new one',
        load: async () => (await import('../commands/auth/login.ts')).login,
      },
      logout: {
        summary: 'Remove the key of a profile',
        load: async () => (await import('../commands/auth/logout.ts')).logout,
      },
      token: {
        summary: 'Print the key that would be sent, for scripts',
        load: async () => (await import('../commands/auth/token.ts')).token,
      },
      status: {
        summary: 'Tell which key is used, and whether it is valid',
        load: async () => (await import('../commands/auth/status.ts')).status,
      },
    },
  },
  config: {
    summary: 'Show and change the settings',
    commands: {
      list: {
        summary: 'List every setting and where it comes from',
        load: async () => (await import('../commands/config/list.ts')).list,
      },
      get: {
        summary: 'Print the value of one setting',
        load: async () => (await import('../commands/config/get.ts')).get,
      },
      set: {
        summary: 'Set what a profile holds',
        load: async () => (await import('../commands/config/set.ts')).set,
      },
      unset: {
        summary: 'Take something out of a profile',
        load: async () => (await import('../commands/config/unset.ts')).unset,
      },
      path: {
        summary: 'Tell where the files are',
        load: async () => (await import('../commands/config/path.ts')).path,
      },
      profiles: {
        summary: 'List the stored instances',
        load: async () => (await import('../commands/config/profiles.ts')).profiles,
      },
      remove: {
        summary: 'Forget a profile and its key',
        load: async () => (await import('../commands/config/remove.ts')).remove,
      },
    },
  },
  completion: {
    summary: 'Make the shell complete commands, flags and values',
    commands: {
      ...shells,
      install: {
        summary: 'Add the completions to your shell, after a question',
        load: async () => (await import('../commands/completion/install.ts')).install,
      },
      values: {
        summary: 'Print what stands in the local files for a kind of value',
        load: async () => (await import('../commands/completion/values.ts')).values,
      },
    },
  },
  commands: {
    summary: 'List every command, its flags and examples',
    load: async () => (await import('../commands/commands.ts')).commands,
  },
  doctor: {
    summary: 'Check the settings, the instance and the key',
    load: async () => (await import('../commands/doctor/doctor.ts')).doctor,
  },
}
