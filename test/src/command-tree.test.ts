import type { Command } from 'commander'
import { describe, expect, it } from 'vitest'
import { type Group, tree } from '../../src/command-tree.ts'
import type { Context } from '../../src/context.ts'
import { buildProgram } from '../../src/program.ts'
import { run } from '../support/cli.ts'
import { words } from './support.ts'

const commands = paths(tree)

function paths(group: Group, above: string[] = []): string[][] {
  return Object.entries(group).flatMap(([name, entry]) =>
    'commands' in entry ? paths(entry.commands, [...above, name]) : [[...above, name]],
  )
}

/** The whole help, with each example on one line. */
async function helpOf(path: string[]): Promise<string> {
  const { code, stdout, stderr } = await run(['help', ...path], { env: { COLUMNS: '1000' } })
  expect(stderr).toBe('')
  expect(code).toBe(0)
  return stdout
}

/** The calls of consentctl in the examples of a help text: without pipes, redirections and variables. */
function examplesIn(help: string): string[][] {
  return [...help.matchAll(/^ {2}\$ (.+)$/gm)]
    .flatMap(([, line = '']) => line.split(' | '))
    .map(part => words(part.replace(/ [<>] \S+$/, '').replace(/^([A-Z_]+=\S+ )+/, '')))
    .filter(([program]) => program === 'consentctl')
    .map(([, ...args]) => args)
}

/** Returns the path of the command that these words reach, without running it. */
async function reaches(args: string[]): Promise<string> {
  const context = async () => ({}) as Context
  const program = await buildProgram(new Set(args), '0', () => {}, context)
  let reached = ''
  const disarm = (command: Command, path: string[]) => {
    for (const child of command.commands) disarm(child, [...path, child.name()])
    if (command.commands.length === 0)
      command.action(() => {
        reached = path.join(' ')
      })
  }
  disarm(program, [])
  await program.parseAsync(args, { from: 'user' })
  return reached
}

describe.each(commands.map(path => [path.join(' '), path] as const))('help of %s', (name, path) => {
  it('has help with at least two valid examples', async () => {
    const help = await helpOf(path)
    expect(help).toContain(
      `Usage: consentctl ${path
        .slice(0, -1)
        .map(part => `${part} `)
        .join('')}`,
    )
    const examples = examplesIn(help)
    expect(examples.length).toBeGreaterThanOrEqual(2)
    const reached = await Promise.all(examples.map(reaches))
    expect(reached).toContain(name)
    expect(reached).not.toContain('')
  })
})

it('the program’s help has valid examples', async () => {
  const help = await helpOf([])
  for (const args of examplesIn(help)) expect(await reaches(args)).not.toBe('')
})

it('no flag of any command takes a key or a password', async () => {
  for (const path of [[], ...commands])
    expect(await helpOf(path)).not.toMatch(/--(api-?)?(key|token|secret|password)(?![\w-])/)
})
