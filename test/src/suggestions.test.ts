import { expect, it } from 'vitest'
import { type Group, tree } from '../../src/command-tree.ts'
import { suggestCommand } from '../../src/suggestions.ts'

function suggested(line: string): string[] {
  const words = line.split(' ')
  const question = suggestCommand(words.slice(0, -1), words.at(-1) ?? '') ?? ''
  return [...question.matchAll(/consentctl ([\w -]+?)(?=\?| or )/g)].map(([, command = '']) => command)
}

const commands = paths(tree, '')

function paths(group: Group, above: string): string[] {
  return Object.entries(group).flatMap(([name, entry]) => [
    ...[name, ...(entry.aliases ?? [])].map(word => above + word),
    ...('commands' in entry ? paths(entry.commands, `${above}${name} `) : []),
  ])
}

/** The words that one insertion, deletion, replacement or swap of neighbours makes of one. */
function misspelt(word: string): string[] {
  const letters = [...'abcdefghijklmnopqrstuvwxyz']
  return [...Array(word.length + 1).keys()].flatMap(at => {
    const [before, here, after] = [word.slice(0, at), word.slice(at, at + 1), word.slice(at + 1)]
    return [
      before + after,
      before + after.slice(0, 1) + here + after.slice(1),
      ...letters.flatMap(letter => [before + letter + here + after, before + letter + after]),
    ]
  })
}

it.each([
  ['erase', ['subject erase']],
  ['export', ['subject export']],
  ['whoami', ['auth status']],
  ['version', ['--version']],
  ['status', ['auth status']],
  ['login', ['auth login']],
  ['logout', ['auth logout']],
  ['find', ['subject find']],
  ['purge', ['subject purge', 'admin purge']],
  ['delte', ['delete']],
  ['lsit', ['list']],
  ['undelete', ['restore']],
  ['remove', ['rm']],
  ['users', ['admin user']],
  ['auth whoami', ['auth status']],
  ['subject delete', ['subject erase']],
  ['keys delte', ['keys revoke']],
  ['admin restore', ['admin import']],
  ['keys restore', []],
  ['subject inport', []],
  ['unerase', []],
  ['constructor', []],
])('instead of %s, suggests %j', (typed, expected) => {
  expect(suggested(typed)).toEqual(expected)
})

it('suggests commands that exist', () => {
  const words = [
    '',
    'subject ',
    'requests ',
    'sites ',
    'notices ',
    'keys ',
    'auth ',
    'config ',
    'admin ',
    'admin user ',
  ]
  const others = ['add', 'create', 'edit', 'show', 'get', 'rm', 'delete', 'restore', 'backup', 'whoami', 'log', 'start']
  const lines = words.flatMap(group => others.map(word => group + word)).filter(line => !commands.includes(line))
  for (const line of lines) for (const command of suggested(line)) expect(commands).toContain(command)
})

it.each([
  ['restore', 'rm'],
  ['restore', 'delete'],
  ['create', 'delete'],
  ['import', 'subject export'],
  ['login', 'auth logout'],
  ['auth login', 'auth logout'],
  ['keys create', 'keys revoke'],
  ['config set', 'config unset'],
  ['admin import', 'admin export'],
  ['admin user add', 'admin user remove'],
])('when %s or %s has one typing error, never suggests the other alone', (one, other) => {
  for (const [meant, opposite] of [
    [one, other],
    [other, one],
  ] as const) {
    const words = meant.split(' ')
    const group = words.slice(0, -1).map(word => `${word} `)
    for (const word of misspelt(words.at(-1) ?? '')) {
      const found = suggested(group.join('') + word)
      if (!found.some(command => command.endsWith(meant))) expect([word, found]).not.toEqual([word, [opposite]])
    }
  }
})

it('when a word negates a command, does not suggest that command', () => {
  for (const command of commands) {
    const words = command.split(' ')
    const negated = [...words.slice(0, -1), `un${words.at(-1)}`].join(' ')
    expect([negated, suggested(negated)]).not.toEqual([negated, expect.arrayContaining([command])])
  }
})
