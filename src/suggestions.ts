import { editDistance } from './cli/edit-distance.ts'
import { type Group, tree } from './command-tree.ts'

/** Other tools' words by group, with our commands. */
const otherWords: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  '': {
    add: 'create',
    edit: 'update',
    set: 'update',
    withdraw: 'update',
    remove: 'rm',
    del: 'rm',
    destroy: 'rm',
    undelete: 'restore',
    undo: 'restore',
    show: 'get',
    view: 'get',
    search: 'subject find',
    forget: 'subject erase',
    export: 'subject export',
    log: 'history',
    count: 'stats',
    quota: 'usage',
    proof: 'evidence',
    dsr: 'requests',
    signin: 'auth login',
    signout: 'auth logout',
    whoami: 'auth status',
    profile: 'config profiles',
    health: 'doctor',
    start: 'serve',
    backup: 'admin export',
    version: '--version',
  },
  subject: {
    list: 'subject find',
    get: 'subject find',
    rm: 'subject erase',
    delete: 'subject erase',
    forget: 'subject erase',
    restore: 'restore',
  },
  requests: { create: 'requests add', get: 'requests show' },
  sites: { add: 'sites create', edit: 'sites update', show: 'sites list' },
  notices: { create: 'notices publish', get: 'notices show' },
  keys: { add: 'keys create', rm: 'keys revoke', delete: 'keys revoke', remove: 'keys revoke' },
  auth: { signin: 'auth login', signout: 'auth logout', whoami: 'auth status' },
  config: { show: 'config list', rm: 'config unset', delete: 'config unset' },
  admin: { backup: 'admin export', restore: 'admin import' },
  'admin account': { add: 'admin account create' },
  'admin user': { create: 'admin user add', rm: 'admin user remove', delete: 'admin user remove' },
}

interface Known {
  readonly word: string
  /** Its command line. */
  readonly leadsTo: string
}

/**
 * Suggests commands for an unknown word. `group` is empty at the top.
 *
 * The nearest known word decides, but a group suggests only its own: `subject inport` must not become `subject
 * export`.
 */
export function suggestCommand(group: readonly string[], word: string): string | undefined {
  const others = otherWords[group.join(' ')] ?? {}
  const exact = Object.hasOwn(others, word) ? others[word] : undefined
  if (exact !== undefined) return ask([exact])
  const near = nearest(word, [
    ...Object.entries(others).map(([other, leadsTo]) => ({ word: other, leadsTo })),
    ...commandsBelow(tree, []),
  ])
    .map(({ leadsTo }) => leadsTo)
    .filter(line => `${line} `.startsWith(group.map(name => `${name} `).join('')))
  const ownCommands = near.filter(line => line.split(' ').length === group.length + 1)
  return ask(ownCommands.length > 0 ? ownCommands : near)
}

function commandsBelow(group: Group, above: readonly string[]): Known[] {
  return Object.entries(group).flatMap(([name, entry]) => [
    ...[name, ...(entry.aliases ?? [])].map(word => ({ word, leadsTo: [...above, word].join(' ') })),
    ...('commands' in entry ? commandsBelow(entry.commands, [...above, name]) : []),
  ])
}

/** One edit in a short word, two in a longer one. `unrevoke` is the opposite of `revoke`. */
function nearest(typed: string, known: readonly Known[]): Known[] {
  const distances = known
    .filter(({ word }) => word.startsWith('un') || !typed.startsWith('un'))
    .map(entry => ({ entry, distance: editDistance(typed, entry.word) }))
    .filter(({ entry, distance }) => distance <= (Math.min(typed.length, entry.word.length) > 5 ? 2 : 1))
  const least = Math.min(...distances.map(({ distance }) => distance))
  return distances.filter(({ distance }) => distance === least).map(({ entry }) => entry)
}

const mostSuggested = 3

function ask(commands: readonly string[]): string | undefined {
  const suggested = [...new Set(commands)].slice(0, mostSuggested).map(line => `consentctl ${line}`)
  return suggested.length > 0 ? `did you mean ${suggested.join(' or ')}?` : undefined
}
