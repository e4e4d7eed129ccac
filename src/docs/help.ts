import { Chalk } from 'chalk'
import { Help } from 'commander'
import { palette } from '../output/palette.ts'
import { wordLines } from '../output/word-lines.ts'
import { type CommandInfo, type FlagInfo, flatten, usageOf, valueSuffix } from './describe.ts'
import { topics } from './topics.ts'

/** A terminal of 24 lines with the prompt below. */
export const screen = { lines: 23, columns: 80 } as const

export interface Look {
  readonly columns: number
  readonly color: boolean
}

/** A line (a heading if it ends with a colon), or a term with its text. */
type Part = string | readonly [term: string, text: string]

/** Numbers of entries with a description; the others are only listed. */
interface Extent {
  readonly flags: number
  readonly commands: number
  readonly examples: number
}

/**
 * Help that fits `screen`. Long lists describe only their first entries, so declare flags and commands in order of
 * importance. The terminal's width only changes the wrapping.
 */
export function screenOf(info: CommandInfo, look: Look): string {
  const everything = { flags: info.flags.length, commands: info.commands.length, examples: info.examples.length }
  const fits = (extent: Extent) => linesOf(screenParts(info, extent), screen.columns).length <= screen.lines
  let extent: Extent | null = everything
  while (extent !== null && !fits(extent)) extent = smaller(extent)
  return styled(screenParts(info, extent ?? everything), look)
}

/** Drops examples except one, then flags, then commands beyond eight, then the last example. */
function smaller({ flags, commands, examples }: Extent): Extent | null {
  if (examples > 1) return { flags, commands, examples: examples - 1 }
  if (flags > 1) return { flags: flags - 1, commands, examples }
  if (commands > 8) return { flags, commands: commands - 1, examples }
  if (examples > 0) return { flags, commands, examples: 0 }
  return commands > 1 ? { flags, commands: commands - 1, examples } : null
}

function screenParts(info: CommandInfo, { flags, commands, examples }: Extent): Part[] {
  const { path } = info
  const lastWord = (each: CommandInfo) => each.path.split(' ').at(-1) ?? ''
  const shown = path === '' ? [] : info.flags.slice(0, flags)
  const room = screen.columns - 2 * gap - Math.max(0, ...shown.map(flag => flagTerm(flag).length))
  const rest = path === '' ? [] : info.flags.slice(flags).map(({ names }) => names[0] ?? '')
  return [
    ...introduction(info),
    ...section('Commands:', [
      ...info.commands
        .slice(0, commands)
        .map((each): Part => [[lastWord(each), ...each.aliases].join(', '), each.summary]),
      ...alsoLine(info.commands.slice(commands).map(lastWord)),
    ]),
    ...argumentSection(info),
    ...section('Options:', [
      ...shown.map((flag): Part => [flagTerm(flag), briefText(flag, room)]),
      ...(info.commands.length > 0 ? [] : ['  -o, --json, -q, --out, -p …  of every command: consentctl help options']),
      ...alsoLine(rest),
    ]),
    ...exampleSection({ ...info, examples: info.examples.slice(0, examples) }),
    '',
    ...(info.commands.length > 0 ? ['Options of every command: consentctl help options'] : []),
    path === ''
      ? `More: consentctl help, consentctl help ${topicsOf(path).join('|')}`
      : `More: ${[path, ...topicsOf(path)].map(name => `consentctl help ${name}`).join(', ')}`,
  ]
}

export function fullHelp(info: CommandInfo, look: Look): string {
  const below = flatten(info).filter(({ commands, path }) => commands.length === 0 && path !== info.path)
  const parts = [
    ...introduction(info),
    ...section(
      'Commands:',
      below.map(each => [usageOf(each).replace(/^consentctl /, ''), each.summary]),
    ),
    ...argumentSection(info),
    ...(info.path === '' ? [] : section('Options:', info.flags.map(flagPart))),
    ...info.notes.split(/\n{2,}/).flatMap(paragraph => (paragraph ? ['', paragraph.replace(/\n/g, ' ')] : [])),
    ...exampleSection(info),
    '',
    `Options of every command (-o, --json, -q, --out, -p …): consentctl help options`,
    ...topicsOf(info.path).map(name => `More: consentctl help ${name}`),
  ]
  return styled(parts, look)
}

export function globalFlags({ flags }: CommandInfo, look: Look): string {
  return styled(['Options of every command, before or after it:', ...flags.map(flagPart)], look)
}

export function topicHelp(name: string, look: Look): string {
  return styled(topics[name]?.text ?? [], look)
}

function topicsOf(path: string): string[] {
  return Object.keys(topics).filter(name => path === '' || topics[name]?.commands.includes(path))
}

function introduction(info: CommandInfo): Part[] {
  const also = info.aliases.length > 0 ? ` (also ${info.aliases.join(', ')})` : ''
  return [`Usage: ${usageOf(info)} [options]`, '', `${info.summary}${also}.`]
}

function argumentSection(info: CommandInfo): Part[] {
  return section(
    'Arguments:',
    info.arguments.map(({ name, description }) => [name, description]),
  )
}

function exampleSection({ path, examples }: CommandInfo): Part[] {
  return section(
    path === '' ? 'Start here:' : 'Examples:',
    examples.map(example => `  $ ${example}`),
  )
}

function section(title: string, parts: readonly Part[]): Part[] {
  return parts.length > 0 ? ['', title, ...parts] : []
}

function alsoLine(names: readonly string[]): string[] {
  return names.length > 0 ? [`  also: ${names.join(', ')}`] : []
}

function flagTerm({ names, value }: FlagInfo): string {
  return [...names].reverse().join(', ') + valueSuffix(value)
}

function flagPart(flag: FlagInfo): Part {
  return [flagTerm(flag), flagText(flag)]
}

function flagText({ description, choices }: FlagInfo): string {
  return choices.length > 0 ? `${description} (${choices.join(', ')})` : description
}

/** Shortens a description to the clauses that fit a line. */
function briefText(flag: FlagInfo, room: number): string {
  const text = flagText(flag)
  if (text.length <= room) return text
  const ends = [...text.matchAll(/; |: | \(/g)].map(({ index }) => text.slice(0, index))
  return ends.filter(({ length }) => length <= room).at(text.includes('; ') ? -1 : 0) ?? text
}

const gap = 2

/** Narrower descriptions go below their term. */
const minDescription = 24

function linesOf(parts: readonly Part[], columns: number): string[] {
  const help = Object.assign(new Help(), { helpWidth: columns, minWidthToWrap: 1 })
  const wide = Math.max(0, ...parts.map(part => (typeof part === 'string' ? 0 : part[0].length)))
  const isNarrow = columns - wide - 2 * gap < minDescription
  const wrap = (text: string, indent: string) =>
    help.boxWrap(text, columns - indent.length).replace(/\n/g, `\n${indent}`)
  const text = (part: Part): string => {
    if (typeof part !== 'string' && !isNarrow) return help.formatItem(part[0], wide, part[1], help)
    if (typeof part !== 'string') return `  ${part[0]}\n      ${wrap(part[1], '      ')}`
    return part.startsWith('  $ ') ? command(part, columns) : wrap(part, part.startsWith(' ') ? '    ' : '')
  }
  return parts.flatMap(part => text(part).split('\n'))
}

/** Breaks between shell words, with a backslash. */
function command(line: string, columns: number): string {
  if (line.length <= columns) return line
  const blank = '\u00a0' // in quotation marks
  const words = line.replace(/'[^']*'|"[^"]*"/g, quoted => quoted.replaceAll(' ', blank))
  return wordLines(words, columns - 8)
    .join(' \\\n      ')
    .replaceAll(blank, ' ')
}

function styled(parts: readonly Part[], { color, columns }: Look): string {
  const { title } = palette(Chalk, color)
  const lines = linesOf(parts, columns).map(line => line.replace(/^(Usage:|[A-Z][^:]*:$)/, title))
  return `${lines.join('\n')}\n`
}
