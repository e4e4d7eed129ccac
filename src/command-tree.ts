import type { Command } from 'commander'
import type { Context } from './context.ts'
import { shellNames } from './docs/completion/shells.ts'

/** What there is to an account beside its records. */
const account: Group = {
  sites: {
    summary: 'Administer the sites of the account',
    commands: {
      list: {
        summary: 'List sites, newest first',
        load: async () => (await import('./commands/sites/list.ts')).list,
      },
      create: {
        summary: 'Make a site, and its token',
        load: async () => (await import('./commands/sites/create.ts')).create,
      },
      update: {
        summary: 'Change the name, the policy version or the origins of a site',
        load: async () => (await import('./commands/sites/update.ts')).update,
      },
      'rotate-token': {
        summary: 'Give a site a new token',
        load: async () => (await import('./commands/sites/rotate-token.ts')).rotateToken,
      },
    },
  },
  keys: {
    summary: 'Administer the API keys of the account',
    commands: {
      list: {
        summary: 'List keys, newest first',
        load: async () => (await import('./commands/keys/list.ts')).list,
      },
      create: {
        summary: 'Make a key',
        load: async () => (await import('./commands/keys/create.ts')).create,
      },
      revoke: {
        summary: 'End keys for good',
        load: async () => (await import('./commands/keys/revoke.ts')).revoke,
      },
    },
  },
  usage: {
    summary: 'Show what is used of the monthly quota',
    load: async () => (await import('./commands/usage.ts')).usage,
  },
}

const shells = Object.fromEntries(
  shellNames.map(shell => [
    shell,
    {
      summary: `Print the completions for ${shell}`,
      load: async () => (await import('./commands/completion/print.ts')).printer(shell),
    },
  ]),
)

/** What there is to the command line itself: its keys, settings and completions on this machine. */
const local: Group = {
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
}

/** What there is to do about a person: find, hand over, erase, prove. */
const subject: Group = {
  subject: {
    summary: 'Find, export and erase what is held on a person, with proof',
    commands: {
      find: {
        summary: 'Show everything that is held on a person',
        load: async () => (await import('./commands/subject/find.ts')).find,
      },
      export: {
        summary: 'Write what is held on a person into a file, with its history',
        load: async () => (await import('./commands/subject/export.ts')).exportSubject,
      },
      erase: {
        summary: 'Delete everything that is held on a person, and make a receipt',
        load: async () => (await import('./commands/subject/erase.ts')).erase,
      },
      resume: {
        summary: 'Go on with an erasure that was stopped or killed',
        load: async () => (await import('./commands/subject/resume.ts')).resume,
      },
      verify: {
        summary: 'Check a receipt, its chain, and that the records are gone',
        load: async () => (await import('./commands/subject/verify.ts')).verify,
      },
      receipts: {
        summary: 'List the receipts of erasures, or print one',
        load: async () => (await import('./commands/subject/receipts.ts')).receipts,
      },
      keys: {
        summary: 'Show the key that signs the receipts',
        commands: {
          show: {
            summary: 'Print the public key that receipts are verified with',
            load: async () => (await import('./commands/subject/keys-show.ts')).keysShow,
          },
        },
      },
    },
  },
}

export interface Leaf {
  /** One line for the help of its group, without a full stop. */
  readonly summary: string
  readonly aliases?: readonly string[]
  /** Gives the command its flags and its action. */
  readonly load: () => Promise<(command: Command, ctx: Context) => void>
}

interface Branch {
  readonly summary: string
  readonly aliases?: readonly string[]
  readonly commands: Group
}

export type Group = Readonly<Record<string, Leaf | Branch>>

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
  ...subject,
  receipt: {
    summary: 'Print the signed receipt of a record',
    load: async () => (await import('./commands/consents/receipt.ts')).receipt,
  },
  verify: {
    summary: 'Verify receipts and other signed documents, offline where their keys are at hand',
    load: async () => (await import('./commands/verify/verify.ts')).verify,
  },
  ...account,
  ...local,
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
      verify: {
        summary: 'Verify every record, its history and the log',
        load: async () => (await import('./commands/admin/verify.ts')).verify,
      },
      checkpoint: {
        summary: 'Keep a signed checkpoint of the log in a file',
        load: async () => (await import('./commands/admin/checkpoint.ts')).checkpoint,
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
      purge: {
        summary: 'Take the personal data of deleted records for good',
        load: async () => (await import('./commands/admin/purge.ts')).purge,
      },
      export: {
        summary: 'Write the whole database as one file, for another place',
        load: async () => (await import('./commands/admin/export.ts')).exportDatabase,
      },
      import: {
        summary: 'Fill an empty database with an export',
        load: async () => (await import('./commands/admin/import.ts')).importDatabase,
      },
    },
  },
}
