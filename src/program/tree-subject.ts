import type { Group } from './tree.ts'

/** What there is to do about a person: find, hand over, erase, prove. */
export const subject: Group = {
  subject: {
    summary: 'Find, export and erase what is held on a person, with proof',
    commands: {
      find: {
        summary: 'Show everything that is held on a person',
        load: async () => (await import('../commands/subject/find.ts')).find,
      },
      export: {
        summary: 'Write what is held on a person into a file, with its history',
        load: async () => (await import('../commands/subject/export.ts')).exportSubject,
      },
      erase: {
        summary: 'Delete everything that is held on a person, and make a receipt',
        load: async () => (await import('../commands/subject/erase.ts')).erase,
      },
      resume: {
        summary: 'Go on with an erasure that was stopped or killed',
        load: async () => (await import('../commands/subject/resume.ts')).resume,
      },
      verify: {
        summary: 'Check a receipt, its chain, and that the records are gone',
        load: async () => (await import('../commands/subject/verify.ts')).verify,
      },
      receipts: {
        summary: 'List the receipts of erasures, or print one',
        load: async () => (await import('../commands/subject/receipts.ts')).receipts,
      },
      keys: {
        summary: 'Show the key that signs the receipts',
        commands: {
          show: {
            summary: 'Print the public key that receipts are verified with',
            load: async () => (await import('../commands/subject/keys-show.ts')).keysShow,
          },
        },
      },
    },
  },
}
