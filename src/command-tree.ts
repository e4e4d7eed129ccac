import type { Command } from 'commander'
import type { Context } from './context.ts'
import { shellNames } from './docs/completion/shells.ts'

const account: Group = {
  sites: {
    summary: 'Manage sites',
    commands: {
      list: {
        summary: 'List sites, newest first',
        load: async () => (await import('./commands/sites/list.ts')).list,
      },
      create: {
        summary: 'Create a site and its token',
        load: async () => (await import('./commands/sites/create.ts')).create,
      },
      update: {
        summary: 'Change the name, policy version, origins or rules of a site',
        load: async () => (await import('./commands/sites/update.ts')).update,
      },
      'rotate-token': {
        summary: 'Issue a new token for a site',
        load: async () => (await import('./commands/sites/rotate-token.ts')).rotateToken,
      },
      archive: {
        summary: 'End the use of a site, or begin it again',
        load: async () => (await import('./commands/sites/archive.ts')).archive,
      },
      snippet: {
        summary: 'Print a script that records the choices of a banner',
        load: async () => (await import('./commands/sites/snippet.ts')).snippet,
      },
    },
  },
  notices: {
    summary: 'Publish and read what people were told',
    commands: {
      list: {
        summary: 'List the notices of a site, newest version first',
        load: async () => (await import('./commands/notices/list.ts')).list,
      },
      show: {
        summary: 'Print a text of a notice, exactly as it was published',
        load: async () => (await import('./commands/notices/show.ts')).show,
      },
      publish: {
        summary: 'Publish the texts of a policy version',
        load: async () => (await import('./commands/notices/publish.ts')).publish,
      },
      diff: {
        summary: 'Compare the texts of two versions',
        load: async () => (await import('./commands/notices/diff.ts')).diff,
      },
      who: {
        summary: 'List who agreed to a policy version and to nothing newer',
        load: async () => (await import('./commands/notices/who.ts')).who,
      },
    },
  },
  keys: {
    summary: 'Manage API keys',
    commands: {
      list: {
        summary: 'List API keys, newest first',
        load: async () => (await import('./commands/keys/list.ts')).list,
      },
      create: {
        summary: 'Create an API key',
        load: async () => (await import('./commands/keys/create.ts')).create,
      },
      revoke: {
        summary: 'Revoke API keys',
        load: async () => (await import('./commands/keys/revoke.ts')).revoke,
      },
    },
  },
  audit: {
    summary: 'See who changed which setting',
    commands: {
      list: {
        summary: 'List the changes of settings, newest first',
        load: async () => (await import('./commands/audit/list.ts')).list,
      },
    },
  },
  usage: {
    summary: 'Show the usage of the monthly quota',
    load: async () => (await import('./commands/usage.ts')).usage,
  },
}

const shells = Object.fromEntries(
  shellNames.map(shell => [
    shell,
    {
      summary: `Print the ${shell} completion script`,
      load: async () => (await import('./commands/completion/print.ts')).printer(shell),
    },
  ]),
)

const local: Group = {
  auth: {
    summary: 'Store, check and remove API keys',
    commands: {
      login: {
        summary: 'Store an API key in a profile, or create one',
        load: async () => (await import('./commands/auth/login.ts')).login,
      },
      logout: {
        summary: 'Remove the stored key of a profile',
        load: async () => (await import('./commands/auth/logout.ts')).logout,
      },
      token: {
        summary: 'Print the API key in use, for scripts',
        load: async () => (await import('./commands/auth/token.ts')).token,
      },
      status: {
        summary: 'Show which key is used and whether it is valid',
        load: async () => (await import('./commands/auth/status.ts')).status,
      },
    },
  },
  config: {
    summary: 'Show and change settings',
    commands: {
      list: {
        summary: 'List every setting and its source',
        load: async () => (await import('./commands/config/list.ts')).list,
      },
      get: {
        summary: 'Print the value of one setting',
        load: async () => (await import('./commands/config/get.ts')).get,
      },
      set: {
        summary: 'Change a setting of a profile',
        load: async () => (await import('./commands/config/set.ts')).set,
      },
      unset: {
        summary: 'Remove a setting from a profile',
        load: async () => (await import('./commands/config/unset.ts')).unset,
      },
      path: {
        summary: 'Show where settings and state are stored',
        load: async () => (await import('./commands/config/path.ts')).path,
      },
      profiles: {
        summary: 'List profiles (stored instances)',
        load: async () => (await import('./commands/config/profiles.ts')).profiles,
      },
      remove: {
        summary: 'Remove a profile and its key',
        load: async () => (await import('./commands/config/remove.ts')).remove,
      },
    },
  },
  doctor: {
    summary: 'Check settings, instance and key, and suggest fixes',
    load: async () => (await import('./commands/doctor/doctor.ts')).doctor,
  },
}

/** Last, because help describes only the first commands. */
const about: Group = {
  completion: {
    summary: 'Set up shell completion',
    commands: {
      ...shells,
      install: {
        summary: 'Install the completion script for your shell',
        load: async () => (await import('./commands/completion/install.ts')).install,
      },
      values: {
        summary: 'Print what local files know, for the completion scripts',
        load: async () => (await import('./commands/completion/values.ts')).values,
      },
    },
  },
  help: {
    summary: 'Show help on a command or a topic',
    load: async () => (await import('./commands/help.ts')).help,
  },
  options: {
    summary: 'Show the options that every command has',
    load: async () => (await import('./commands/help.ts')).options,
  },
  commands: {
    summary: 'List every command, with flags and examples',
    load: async () => (await import('./commands/commands.ts')).commands,
  },
}

const register: Group = {
  requests: {
    summary: 'Keep the register of data subjects’ requests, with deadlines',
    commands: {
      list: {
        summary: 'List open requests, the most urgent first',
        load: async () => (await import('./commands/requests/list.ts')).list,
      },
      next: {
        summary: 'Show the request to answer now',
        load: async () => (await import('./commands/requests/next.ts')).next,
      },
      show: {
        summary: 'Show a request, or its history',
        load: async () => (await import('./commands/requests/show.ts')).show,
      },
      add: {
        summary: 'Enter a request into the register',
        load: async () => (await import('./commands/requests/add.ts')).add,
      },
      update: {
        summary: 'Assign or correct an open request',
        load: async () => (await import('./commands/requests/update.ts')).update,
      },
      extend: {
        summary: 'Extend the period to answer a request by two months',
        load: async () => (await import('./commands/requests/extend.ts')).extend,
      },
      close: {
        summary: 'Close a request and remove its identifiers',
        load: async () => (await import('./commands/requests/close.ts')).close,
      },
      report: {
        summary: 'Report how many requests were answered, how fast, and which late',
        load: async () => (await import('./commands/requests/report.ts')).report,
      },
    },
  },
}

const subject: Group = {
  subject: {
    summary: 'Find, export and erase the data of a person, with proof',
    commands: {
      find: {
        summary: 'List all records of a person',
        load: async () => (await import('./commands/subject/find.ts')).find,
      },
      export: {
        summary: 'Export the records and history of a person to a file',
        load: async () => (await import('./commands/subject/export.ts')).exportSubject,
      },
      erase: {
        summary: 'Delete all records of a person and sign a receipt',
        load: async () => (await import('./commands/subject/erase.ts')).erase,
      },
      purge: {
        summary: 'Purge what an erasure deleted now, and sign a receipt',
        load: async () => (await import('./commands/subject/purge.ts')).purge,
      },
      resume: {
        summary: 'Resume an interrupted erasure',
        load: async () => (await import('./commands/subject/resume.ts')).resume,
      },
      verify: {
        summary: 'Verify a receipt, its chain, and that its records are deleted',
        load: async () => (await import('./commands/subject/verify.ts')).verify,
      },
      receipts: {
        summary: 'List erasure receipts, or print one',
        load: async () => (await import('./commands/subject/receipts.ts')).receipts,
      },
      keys: {
        summary: 'Show the key that signs receipts',
        commands: {
          show: {
            summary: 'Print the public key for verifying receipts',
            load: async () => (await import('./commands/subject/keys-show.ts')).keysShow,
          },
        },
      },
    },
  },
}

export interface Leaf {
  /** One line, without a full stop. */
  readonly summary: string
  readonly aliases?: readonly string[]
  readonly load: () => Promise<(command: Command, ctx: Context) => void>
}

interface Branch {
  readonly summary: string
  readonly aliases?: readonly string[]
  readonly commands: Group
}

export type Group = Readonly<Record<string, Leaf | Branch>>

/** To add a command, write its file and an entry here. */
export const tree: Group = {
  create: {
    summary: 'Create a consent record, or many from a file',
    load: async () => (await import('./commands/consents/create.ts')).create,
  },
  import: {
    summary: 'Import records and their history from other tools',
    load: async () => (await import('./commands/consents/import.ts')).importHistory,
  },
  list: {
    summary: 'List records, newest first',
    aliases: ['ls'],
    load: async () => (await import('./commands/consents/list.ts')).list,
  },
  get: {
    summary: 'Show records by id',
    load: async () => (await import('./commands/consents/get.ts')).get,
  },
  update: {
    summary: 'Change the acceptance or preferences of a record',
    load: async () => (await import('./commands/consents/update.ts')).update,
  },
  rm: {
    summary: 'Delete records and keep their history',
    aliases: ['delete'],
    load: async () => (await import('./commands/consents/rm.ts')).rm,
  },
  restore: {
    summary: 'Restore deleted records that are not purged yet',
    load: async () => (await import('./commands/consents/restore.ts')).restore,
  },
  history: {
    summary: 'Show the audit trail of records',
    load: async () => (await import('./commands/consents/history.ts')).history,
  },
  check: {
    summary: 'Check if a person consents to a purpose',
    load: async () => (await import('./commands/check.ts')).check,
  },
  stats: {
    summary: 'Count records, persons and what they stated',
    load: async () => (await import('./commands/stats.ts')).stats,
  },
  ...subject,
  ...register,
  receipt: {
    summary: 'Print the signed receipt of a record',
    load: async () => (await import('./commands/consents/receipt.ts')).receipt,
  },
  evidence: {
    summary: 'Write a folder that proves a record without the instance',
    load: async () => (await import('./commands/evidence/evidence.ts')).evidence,
  },
  verify: {
    summary: 'Verify receipts, other signed documents and evidence, also offline',
    load: async () => (await import('./commands/verify/verify.ts')).verify,
  },
  ...account,
  ...local,
  serve: {
    summary: 'Run the server',
    load: async () => (await import('./commands/serve.ts')).serve,
  },
  admin: {
    summary: 'Manage the database of a server',
    commands: {
      account: {
        summary: 'Manage accounts',
        commands: {
          create: {
            summary: 'Create an account with an owner, a site and an API key',
            load: async () => (await import('./commands/admin/account-create.ts')).accountCreate,
          },
          list: {
            summary: 'List accounts with their quotas and usage',
            load: async () => (await import('./commands/admin/account-quota.ts')).accountList,
          },
          quota: {
            summary: 'Change the monthly quota of an account',
            load: async () => (await import('./commands/admin/account-quota.ts')).accountQuota,
          },
        },
      },
      verify: {
        summary: 'Verify every record, its history and the log',
        load: async () => (await import('./commands/admin/verify.ts')).verify,
      },
      checkpoint: {
        summary: 'Write a signed checkpoint of the log to a file',
        load: async () => (await import('./commands/admin/checkpoint.ts')).checkpoint,
      },
      'signing-key': {
        summary: 'Manage the keys that the server signs with',
        commands: {
          revoke: {
            summary: 'Revoke a signing key',
            load: async () => (await import('./commands/admin/signing-key.ts')).revokeSigningKey,
          },
          restart: {
            summary: 'Let a new signing key follow the newest one after its loss',
            load: async () => (await import('./commands/admin/signing-key.ts')).restartSigningKeys,
          },
        },
      },
      user: {
        summary: 'Manage users',
        commands: {
          add: {
            summary: 'Add an owner or a reader to an account',
            load: async () => (await import('./commands/admin/users.ts')).userAdd,
          },
          list: {
            summary: 'List users with their roles',
            load: async () => (await import('./commands/admin/users.ts')).userList,
          },
          remove: {
            summary: 'Remove a user from an account',
            load: async () => (await import('./commands/admin/users.ts')).userRemove,
          },
          password: {
            summary: 'Reset a user’s password',
            load: async () => (await import('./commands/admin/user-password.ts')).userPassword,
          },
        },
      },
      purge: {
        summary: 'Purge personal data of deleted records',
        load: async () => (await import('./commands/admin/purge.ts')).purge,
      },
      export: {
        summary: 'Export the whole database to a file',
        load: async () => (await import('./commands/admin/export.ts')).exportDatabase,
      },
      import: {
        summary: 'Import an export into an empty database',
        load: async () => (await import('./commands/admin/import.ts')).importDatabase,
      },
    },
  },
  ...about,
}
