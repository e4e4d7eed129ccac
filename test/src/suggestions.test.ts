import { expect, it } from 'vitest'
import { type Group, tree } from '../../src/command-tree.ts'
import { suggestCommand } from '../../src/suggestions.ts'

function suggested(line: string, near: string[] = []): string[] {
  const words = line.split(' ')
  const question = suggestCommand(words.slice(0, -1), words.at(-1) ?? '', near) ?? ''
  return [...question.matchAll(/consentctl ([\w -]+?)(?=\?| or )/g)].map(([, command = '']) => command)
}

const commands = paths(tree, '')

function paths(group: Group, above: string): string[] {
  return Object.entries(group).flatMap(([name, entry]) => [
    ...[name, ...entry.aliases].map(word => above + word),
    ...('commands' in entry ? paths(entry.commands, `${above}${name} `) : []),
  ])
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
  ['undelete', ['restore']],
  ['remove', ['rm']],
  ['auth whoami', ['auth status']],
  ['subject delete', ['subject erase']],
  ['admin restore', ['admin import']],
  ['keys restore', []],
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
  ['lst', ['list'], ['list']],
  ['keys unrevoke', ['revoke'], []],
  ['subject inport', ['export'], []],
  ['keys restore', ['revoke'], []],
])('when %s is near %j, suggests %j', (typed, near, expected) => {
  expect(suggested(typed, near)).toEqual(expected)
})
