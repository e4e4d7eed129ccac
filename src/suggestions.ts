import { type Group, tree } from './command-tree.ts'

/** Other tools' words by group, with our commands. */
const otherWords: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  '': {
    add: 'create',
    edit: 'update',
    set: 'update',
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
    withdraw: 'withdraw',
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

/**
 * `near` has commander's corrections of the spelling. A word that is a command elsewhere is no typing error, and an
 * opposite such as `unrevoke` begins with another letter.
 */
export function suggestCommand(group: readonly string[], word: string, near: readonly string[]): string | undefined {
  const others = otherWords[group.join(' ')] ?? {}
  const known = Object.hasOwn(others, word) ? others[word] : undefined
  const named = known === undefined ? commandsNamed(word, tree, []) : [known]
  const corrected = near.filter(each => each[0] === word[0]).map(each => [...group, each].join(' '))
  const prefix = group.map(name => `${name} `).join('')
  const lines = named.length > 0 ? named.filter(line => line.startsWith(prefix) || line === known) : corrected
  return lines.length > 0 ? `did you mean ${lines.map(line => `consentctl ${line}`).join(' or ')}?` : undefined
}

function commandsNamed(word: string, group: Group, above: readonly string[]): string[] {
  return Object.entries(group).flatMap(([name, entry]) => [
    ...(name === word || entry.aliases.includes(word) ? [[...above, word].join(' ')] : []),
    ...('commands' in entry ? commandsNamed(word, entry.commands, [...above, name]) : []),
  ])
}
