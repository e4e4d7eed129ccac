import { readFileSync } from 'node:fs'
import { stripVTControlCharacters } from 'node:util'
import stringWidth from 'string-width'
import { describe, expect, it } from 'vitest'
import { type Group, tree } from '../../../src/command-tree.ts'
import { type CommandInfo, flatten } from '../../../src/docs/describe.ts'
import { fullHelp, globalFlags, type Look, screen, screenOf, topicHelp } from '../../../src/docs/help.ts'
import { topicNames } from '../../../src/docs/topics.ts'
import { exit } from '../../../src/errors/errors.ts'
import { describeCommands } from '../../../src/program.ts'
import { run } from '../../support/cli.ts'
import { expectNoStdout } from '../support.ts'

const program = await describeCommands()
const everything = flatten(program)
const manual = readFileSync(new URL('../../../src/commands/README.md', import.meta.url), 'utf8')

async function shown(args: readonly string[]): Promise<string[]> {
  const { code, stdout, stderr } = await run(args, { env: {} })
  expect({ args, code, stderr }).toEqual({ args, code: 0, stderr: '' })
  return stdout.trimEnd().split('\n')
}

function at(columns: number, render: (look: Look) => string): string[] {
  return render({ columns, color: false }).trimEnd().split('\n')
}

/** Every screen by what shows it. */
const screens = new Map<string, (look: Look) => string>([
  ...everything.map(info => [`${info.path} --help`, (look: Look) => screenOf(info, look)] as const),
  ...topicNames.map(name => [`help ${name}`, (look: Look) => topicHelp(name, look)] as const),
  ['help options', look => globalFlags(program, look)],
])

function words(path: string): string[] {
  return path.split(' ').filter(word => word !== '')
}

/** Lines that are wider, but those of one word that cannot be broken. */
function tooWide(lines: readonly string[], columns: number): string[] {
  return lines.filter(line => stringWidth(line) > columns && /\S\s+[^\s\\]/.test(line.replace(' $ ', '   ')))
}

function summaries(group: Group): string[] {
  return Object.values(group).flatMap(each => [each.summary, ...('commands' in each ? summaries(each.commands) : [])])
}

describe('help screens', () => {
  it.each([...screens])('"consentctl %s" fits 24 lines of 80 columns, including the prompt', (_, render) => {
    const lines = at(screen.columns, render)
    expect(lines.length).toBeLessThanOrEqual(screen.lines)
    expect(lines.filter(line => stringWidth(line) > screen.columns)).toEqual([])
  })

  it.each([40, 200])('wraps the same text to %i columns', columns => {
    for (const [name, render] of screens)
      expect({ name, lines: tooWide(at(columns, render), columns) }).toEqual({ name, lines: [] })
  })

  it.each(['list --help', 'config --help', 'help options', 'help output'])(
    '"consentctl %s" prints its help screen',
    async line => {
      const expected = at(80, screens.get(line) ?? (() => ''))
      expect(await shown(words(line))).toEqual(expected)
      if (line === 'config --help') expect(await shown(['config'])).toEqual(expected)
    },
  )
})

describe('help names what it omits', () => {
  const leaves = everything.filter(({ commands }) => commands.length === 0)

  it.each(leaves.map(info => [info.path, info] as const))(
    'the short help of %s names what it omits, and the full help lists it',
    (path, info) => {
      const short = at(80, look => screenOf(info, look))
      const full = at(80, look => fullHelp(info, look))
      for (const { names } of info.flags) {
        expect(short.join('\n')).toContain(names[0])
        expect(
          full.filter(line => line.match(new RegExp(`^ {2}(-\\w, )?${names[0]}(?![\\w-]).* {2,}\\S`))),
        ).toHaveLength(1)
      }
      for (const example of info.examples) expect(joined(full)).toContain(`$ ${example}`)
      expect(short.some(line => line.startsWith(`More: consentctl help ${path}`))).toBe(true)
      for (const lines of [short, full]) expect(lines.join('\n')).toContain('consentctl help options')
      expect(flat(full)).toContain(flat([info.notes]))
      expect(tooWide(full, screen.columns)).toEqual([])
    },
  )

  it('the program names every command, and help describes each', async () => {
    const [bare, asked, full] = await Promise.all([shown([]), shown(['--help']), shown(['help'])])
    expect(bare).toEqual(asked)
    for (const { path } of program.commands) expect(asked.join('\n')).toMatch(new RegExp(`[ ,:]${path}\\b`))
    for (const [name, { summary }] of Object.entries(tree))
      expect(flat(full)).toMatch(new RegExp(` ${name} (\\S+ )?${summary.replace(/[()]/g, '\\$&')}`))
    for (const name of topicNames) expect(asked.join('\n')).toContain(name)
  })

  it('help options describes every flag of the program', async () => {
    const text = flat(await shown(['help', 'options']))
    for (const { names, description } of program.flags)
      for (const part of [names[0] ?? '', flat([description])]) expect(text).toContain(part)
  })
})

function flat(lines: readonly string[]): string {
  return lines.join(' ').replace(/\s+/g, ' ').trim()
}

/** Undoes the breaks of commands. */
function joined(lines: readonly string[]): string {
  return lines.join('\n').replaceAll(/ \\\n +/g, ' ')
}

describe('help', () => {
  it('prints bold headings with colour, and plain ones without', async () => {
    const tty = { stdout: true }
    const colored = await run(['list', '--help'], { env: {}, tty })
    for (const heading of ['Usage:', 'Options:', 'Examples:'])
      expect(colored.stdout).toContain(`\u001b[1m${heading}\u001b[22m`)
    for (const { stdout } of [
      await run(['list', '--help'], { env: {} }),
      await run(['list', '--help'], { env: { NO_COLOR: '1' }, tty }),
      await run(['list', '--help', '--color', 'never'], { env: {}, tty }),
    ]) {
      expect(stdout).not.toContain('\u001b')
      expect(stdout).toBe(stripVTControlCharacters(colored.stdout))
    }
  })

  it('finds a command by its alias', async () => {
    expect(await shown(['help', 'ls'])).toEqual(await shown(['help', 'list']))
  })

  it('list --help describes common flags before rare filters', async () => {
    const screen = (await shown(['list', '--help'])).join('\n')
    for (const flag of ['--limit', '--all', '--count'])
      expect(screen).toMatch(new RegExp(`^  ${flag}\\b.* {2}\\w`, 'm'))
    expect(screen).toMatch(/^ {2}also: .*--imported/m)
    expect(screen).toMatch(/^ {2}-o, --json, .*\n {2}also: /m)
  })

  it.each(['help lst', 'help list rm', 'help subject lst'])(
    'when there is no help on %s, exits with 2 and lists the topics',
    async line => {
      expectNoStdout(await run(line.split(' '), { env: {} }), 2, 'exit-codes')
    },
  )

  it('has one-line summaries', () => {
    for (const summary of summaries(tree)) expect(summary.length).toBeLessThanOrEqual(66)
  })
})

describe('topics agree with the manual', () => {
  const section = (title: string) => manual.split(`\n## ${title}\n`)[1]?.split('\n## ')[0] ?? ''

  it('exit-codes lists every code of the manual and of the program', async () => {
    const text = await shown(['help', 'exit-codes'])
    const listed = text.flatMap(line => /^ {2}(\d+) /.exec(line)?.[1] ?? [])
    const inManual = [...section('Exit codes').matchAll(/^\| ([\d, ]+) \|/gm)].flatMap(([, codes = '']) =>
      codes.split(', '),
    )
    expect(listed.sort()).toEqual([...new Set(inManual)].sort())
    for (const code of Object.values(exit)) expect(listed).toContain(String(code))
  })

  it('environment lists every variable of the manual', async () => {
    const text = (await shown(['help', 'environment'])).join('\n')
    const names = [...section('Environment').matchAll(/^\| (.+?) \|/gm)].flatMap(
      ([, cell = '']) => cell.match(/[A-Z_]{6,}/g) ?? [],
    )
    expect(names.length).toBeGreaterThan(12)
    for (const name of names) expect(text).toContain(name)
  })

  it('output lists every format', async () => {
    const text = (await shown(['help', 'output'])).join('\n')
    const formats = program.flags.find(({ names }) => names.includes('--output'))?.choices ?? []
    for (const format of formats) expect(text).toMatch(new RegExp(`^ {2}${format} `, 'm'))
  })
})

it('no two flags of a command have the same name', () => {
  const repeated = ({ flags }: CommandInfo) => {
    const names = flags.flatMap(flag => flag.names)
    return names.filter((name, index) => names.indexOf(name) !== index)
  }
  expect(everything.flatMap(repeated)).toEqual([])
})
