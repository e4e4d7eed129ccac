import type { AccountEntry } from '../contract/audit.ts'
import type { SubjectRead } from '../contract/reads.ts'
import type { View } from '../output/index.ts'
import { field, second } from './field.ts'

export const auditView: View<AccountEntry> = {
  id: row => String(row.version),
  columns: [
    field('version', { whole: true, rank: 5 }),
    field('at', { text: row => second(row.at), whole: true, rank: 1 }),
    { name: 'actor', text: nameOf, value: ({ actor }) => actor, rank: 3 },
    field('action', { whole: true, rank: 2 }),
    { name: 'target', text: targetOf, value: ({ target }) => target, rank: 6 },
    { name: 'before', text: ({ before }) => valuesOf(before), value: ({ before }) => before, rank: 7 },
    { name: 'after', text: ({ after }) => valuesOf(after), value: ({ after }) => after, rank: 4 },
    field('hash'),
    field('document', { onRequest: true }), // repeats the others
  ],
}

export const readView: View<SubjectRead> = {
  id: row => row.id,
  columns: [
    field('id', { whole: true, rank: 5 }),
    field('at', { text: row => second(row.at), whole: true, rank: 1 }),
    { name: 'actor', text: nameOf, value: ({ actor }) => actor, rank: 3 },
    field('operation', { whole: true, rank: 2 }),
    field('subject_hmac', { rank: 4 }),
  ],
}

function nameOf({ actor: { kind, id, name } }: Pick<AccountEntry, 'actor'>): string {
  return name ?? id ?? kind
}

function targetOf({ target: { kind, id, policy_version } }: AccountEntry): string {
  return [kind, id, policy_version].filter(part => part !== undefined).join(' ')
}

/** Without ids, which are the target's, and lists. */
function valuesOf(values: AccountEntry['after']): string {
  return Object.entries(values ?? {})
    .filter(([name]) => name !== 'id' && name !== 'updated_at')
    .map(([name, value]) => `${name}=${typeof value === 'object' && value !== null ? '…' : value}`)
    .join(' ')
}
