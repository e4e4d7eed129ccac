import type { Group } from './tree.ts'

/** What there is to an account beside its records. */
export const account: Group = {
  sites: {
    summary: 'Administer the sites of the account',
    commands: {
      list: {
        summary: 'List sites, newest first',
        load: async () => (await import('../commands/sites/list.ts')).list,
      },
      create: {
        summary: 'Make a site, and its token',
        load: async () => (await import('../commands/sites/create.ts')).create,
      },
      update: {
        summary: 'Change the name, the policy version or the origins of a site',
        load: async () => (await import('../commands/sites/update.ts')).update,
      },
      'rotate-token': {
        summary: 'Give a site a new token',
        load: async () => (await import('../commands/sites/rotate-token.ts')).rotateToken,
      },
    },
  },
  keys: {
    summary: 'Administer the API keys of the account',
    commands: {
      list: {
        summary: 'List keys, newest first',
        load: async () => (await import('../commands/keys/list.ts')).list,
      },
      create: {
        summary: 'Make a key',
        load: async () => (await import('../commands/keys/create.ts')).create,
      },
      revoke: {
        summary: 'End keys for good',
        load: async () => (await import('../commands/keys/revoke.ts')).revoke,
      },
    },
  },
  usage: {
    summary: 'Show what is used of the monthly quota',
    load: async () => (await import('../commands/usage.ts')).usage,
  },
}
