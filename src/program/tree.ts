import type { Command } from 'commander'
import type { Context } from '../context.ts'
import { account } from './tree-account.ts'
import { local } from './tree-local.ts'
import { subject } from './tree-subject.ts'

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

/** Every command there is. A new one is a file, and a line here. */
export const tree: Group = {
  create: {
    summary: 'Create a consent record, or many from a file',
    load: async () => (await import('../commands/consents/create.ts')).create,
  },
  list: {
    summary: 'List records, newest first',
    aliases: ['ls'],
    load: async () => (await import('../commands/consents/list.ts')).list,
  },
  get: {
    summary: 'Show records by their ids',
    load: async () => (await import('../commands/consents/get.ts')).get,
  },
  update: {
    summary: 'Change what a record accepts',
    load: async () => (await import('../commands/consents/update.ts')).update,
  },
  rm: {
    summary: 'Delete records, keeping their history',
    aliases: ['delete'],
    load: async () => (await import('../commands/consents/rm.ts')).rm,
  },
  history: {
    summary: 'Show the audit trail of records',
    load: async () => (await import('../commands/consents/history.ts')).history,
  },
  ...subject,
  receipt: {
    summary: 'Print the signed receipt of a record',
    load: async () => (await import('../commands/consents/receipt.ts')).receipt,
  },
  verify: {
    summary: 'Verify receipts and other signed documents, offline where their keys are at hand',
    load: async () => (await import('../commands/verify/verify.ts')).verify,
  },
  ...account,
  ...local,
  serve: {
    summary: 'Run the service',
    load: async () => (await import('../commands/serve.ts')).serve,
  },
  admin: {
    summary: 'Administer the database of a service',
    commands: {
      account: {
        summary: 'Administer accounts',
        commands: {
          create: {
            summary: 'Create an account with its owner, a site and an API key',
            load: async () => (await import('../commands/admin/account-create.ts')).accountCreate,
          },
        },
      },
      verify: {
        summary: 'Verify every record, its history and the log',
        load: async () => (await import('../commands/admin/verify.ts')).verify,
      },
      checkpoint: {
        summary: 'Keep a signed checkpoint of the log in a file',
        load: async () => (await import('../commands/admin/checkpoint.ts')).checkpoint,
      },
      user: {
        summary: 'Administer users',
        commands: {
          password: {
            summary: 'Give a user a new password',
            load: async () => (await import('../commands/admin/user-password.ts')).userPassword,
          },
        },
      },
      purge: {
        summary: 'Take the personal data of deleted records for good',
        load: async () => (await import('../commands/admin/purge.ts')).purge,
      },
      export: {
        summary: 'Write the whole database as one file, for another place',
        load: async () => (await import('../commands/admin/export.ts')).exportDatabase,
      },
      import: {
        summary: 'Fill an empty database with an export',
        load: async () => (await import('../commands/admin/import.ts')).importDatabase,
      },
    },
  },
}
