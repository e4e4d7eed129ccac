import { Chalk } from 'chalk'
import { Help } from 'commander'
import { palette } from '../output/palette.ts'
import { type CommandInfo, type FlagInfo, flatten, usageOf, valueSuffix } from './describe.ts'
import { topics } from './topics.ts'

/** A terminal of 24 lines with the prompt below. */
export const screen = { lines: 23, columns: 80 } as const

export interface Look {
  readonly columns: number
  readonly color: boolean
}

/** A line (a heading if it ends with a colon), or a term with its text. */
type Part = string | { readonly term: string; readonly text: string }

/** Numbers of described entries; the others are only named. */
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
  return largest(info, look, screenParts)
}

/** For a group without a command. */
export function shortForm(info: CommandInfo, look: Look): string {
  return largest(info, look, shortParts)
}

type Layout = (info: CommandInfo, extent: Extent, look: Look) => Part[]

function largest(info: CommandInfo, look: Look, layout: Layout): string {
  const everything = { flags: info.flags.length, commands: info.commands.length, examples: info.examples.length }
  let extent: Extent | null = everything
  const fits = (each: Extent) => linesOf(layout(info, each, look), screen.columns).length <= screen.lines
  while (extent !== null && !fits(extent)) extent = smaller(extent)
  return styled(linesOf(layout(info, extent ?? everything, look), look.columns), look)
}

/** Drops examples except one, then flags, then the last example, then commands. */
function smaller({ flags, commands, examples }: Extent): Extent | null {
  if (examples > 1) return { flags, commands, examples: examples - 1 }
  if (flags > 1) return { flags: flags - 1, commands, examples }
  if (examples > 0) return { flags, commands, examples: 0 }
  return commands > 1 ? { flags, commands: commands - 1, examples } : null
}

export function fullHelp(info: CommandInfo, look: Look): string {
  const below = flatten(info).filter(({ commands, path }) => commands.length === 0 && path !== info.path)
  const parts: Part[] = [
    usageLine(info),
    '',
    summaryOf(info),
    ...section(
      'Commands:',
      below.map(each => ({ term: usageOf(each).replace(/^consentctl /, ''), text: each.summary })),
    ),
    ...section(
      'Arguments:',
      info.arguments.map(({ name, description }) => ({ term: name, text: description })),
    ),
    ...(info.path === '' ? [] : section('Options:', info.flags.map(flagPart))),
    ...info.notes.split(/\n{2,}/).flatMap(paragraph => (paragraph ? ['', paragraph.replace(/\n/g, ' ')] : [])),
    ...section(info.path === '' ? 'Start here:' : 'Examples:', exampleLines(info)),
    ...(info.path === '' ? section('Topics:', topicParts()) : []),
    '',
    ...pointers(info, false),
  ]
  return styled(linesOf(parts, look.columns), look)
}

export function globalFlags({ flags }: CommandInfo, look: Look): string {
  const width = Math.max(look.columns, screen.columns)
  const parts = flags.map(flag => briefPart(flag, width, termWidth(flags)))
  const lines = ['Options of every command, before or after it:', ...parts, 'More: consentctl help options']
  return styled(linesOf(lines, look.columns), look)
}

export function topicHelp(name: string, look: Look): string {
  const topic = topics[name]
  if (!topic) throw new Error(`no topic ${name}`)
  const parts = topic.text.map(part => (typeof part === 'string' ? part : { term: part[0], text: part[1] }))
  return styled(linesOf(parts, look.columns), look)
}

export function topicList(look: Look): string {
  return styled(linesOf(['Topics:', ...topicParts(), '', 'More: consentctl help TOPIC'], look.columns), look)
}

function shortParts(info: CommandInfo, { commands }: Extent): Part[] {
  const path = ['consentctl', info.path].join(' ').trim()
  return [
    usageLine(info),
    '',
    ...commandParts(info, commands),
    '',
    ...info.examples.slice(0, 1).map(example => `Start here: ${example}`),
    `For more: ${path} --help`,
  ]
}

function screenParts(info: CommandInfo, { flags, commands, examples }: Extent, look: Look): Part[] {
  const width = Math.max(look.columns, screen.columns)
  const isProgram = info.path === ''
  const shown = isProgram ? [] : info.flags.slice(0, flags)
  const brief = shown.map(flag => briefPart(flag, width, termWidth(shown)))
  const rest = isProgram ? [] : info.flags.slice(flags).map(({ names }) => names[0] ?? '')
  const isCut =
    rest.length > 0 ||
    commands < info.commands.length ||
    examples < info.examples.length ||
    info.notes !== '' ||
    shown.some((flag, index) => flagPart(flag).text !== brief[index]?.text)
  return [
    usageLine(info),
    '',
    summaryOf(info),
    ...(info.commands.length > 0 ? ['', ...commandParts(info, commands)] : []),
    ...section(
      'Arguments:',
      info.arguments.map(({ name, description }) => ({ term: name, text: description })),
    ),
    ...section('Options:', [...brief, ...(rest.length > 0 ? [`  also: ${rest.join(', ')}`] : [])]),
    ...section(isProgram ? 'Start here:' : 'Examples:', exampleLines(info, examples)),
    '',
    ...pointers(info, isCut),
  ]
}

function commandParts({ commands }: CommandInfo, count: number): Part[] {
  const name = ({ path, aliases }: CommandInfo) => [path.split(' ').at(-1), ...aliases].join(', ')
  const rest = commands.slice(count).map(({ path }) => path.split(' ').at(-1))
  return [
    'Commands:',
    ...commands.slice(0, count).map(each => ({ term: name(each), text: each.summary })),
    ...(rest.length > 0 ? [`  also: ${rest.join(', ')}`] : []),
  ]
}

function pointers({ path, commands }: CommandInfo, isCut: boolean): string[] {
  const related = Object.keys(topics).filter(name => topics[name]?.commands.includes(path))
  const more = [...(isCut ? [path] : []), ...related].map(name => `consentctl help ${name}`.trim())
  const global = 'Options of every command (-o, --json, -q, --out, -p …): consentctl options'
  const below = `Options: consentctl ${[path, 'COMMAND'].join(' ').trim()} --help; of every command: consentctl options`
  return [
    commands.length > 0 ? below : global,
    ...(path === '' ? [`Topics: consentctl help ${Object.keys(topics).join('|')}`] : []),
    ...(more.length > 0 ? [`More: ${more.join(', ')}`] : []),
  ]
}

function exampleLines({ examples }: CommandInfo, count = examples.length): string[] {
  return examples.slice(0, count).map(example => `  $ ${example}`)
}

function topicParts(): Part[] {
  return Object.entries(topics).map(([name, { summary }]) => ({ term: name, text: summary }))
}

function section(title: string, parts: readonly Part[]): Part[] {
  return parts.length > 0 ? ['', title, ...parts] : []
}

function usageLine(info: CommandInfo): string {
  return `Usage: ${usageOf(info)} [options]`
}

function summaryOf({ summary, aliases }: CommandInfo): string {
  const also = aliases.length > 0 ? ` (also ${aliases.join(', ')})` : ''
  return `${summary.replace(/\.$/, '')}${also}.`
}

function flagTerm({ names, value }: FlagInfo): string {
  return [...names].reverse().join(', ') + valueSuffix(value)
}

function termWidth(flags: readonly FlagInfo[]): number {
  return Math.max(0, ...flags.map(flag => flagTerm(flag).length))
}

function flagPart(flag: FlagInfo): { term: string; text: string } {
  const choices = flag.choices.length > 0 ? ` (${flag.choices.join(', ')})` : ''
  return { term: flagTerm(flag), text: `${flag.description}${choices}` }
}

/** Shortens a description to the clauses that fit a line. */
function briefPart(flag: FlagInfo, width: number, terms: number): { term: string; text: string } {
  const { term, text } = flagPart(flag)
  const room = width - terms - 2 * gap
  if (text.length <= room) return { term, text }
  const ends = [...text.matchAll(/; |: | \(/g)].map(({ index }) => text.slice(0, index))
  return { term, text: ends.filter(({ length }) => length <= room).at(text.includes('; ') ? -1 : 0) ?? text }
}

const gap = 2

/** Narrower descriptions go below their term. */
const minDescription = 24

function linesOf(parts: readonly Part[], columns: number): string[] {
  const help = Object.assign(new Help(), { helpWidth: columns, minWidthToWrap: 1 })
  const terms = parts.flatMap(part => (typeof part === 'string' ? [] : [part.term.length]))
  const wide = Math.max(0, ...terms)
  const isNarrow = columns - wide - 2 * gap < minDescription
  const text = (part: Part): string => {
    if (typeof part === 'string') return part.startsWith('  $ ') ? command(part, columns) : hanging(help, part, columns)
    if (!isNarrow) return help.formatItem(part.term, wide, part.text, help)
    return `  ${part.term}\n      ${help.boxWrap(part.text, columns - 6).replace(/\n/g, '\n      ')}`
  }
  return parts.flatMap(part => text(part).split('\n'))
}

function hanging(help: Help, line: string, columns: number): string {
  const indent = line.startsWith(' ') ? '    ' : ''
  return help.boxWrap(line, columns - indent.length).replace(/\n/g, `\n${indent}`)
}

/** Breaks with `\\`, between a flag and its value only if both do not fit. */
function command(line: string, columns: number): string {
  const room = columns - 2 // for the backslash
  const indent = ' '.repeat(6)
  const pairs = line.slice(4).match(/-[\w-]+ (?!-)(?:'[^']*'|"[^"]*"|\S)+|(?:'[^']*'|"[^"]*"|\S)+/g) ?? []
  const words = pairs.flatMap(pair => (indent.length + pair.length <= room ? [pair] : pair.split(/(?<=^\S+) /)))
  const lines: string[] = []
  let last = '  $'
  for (const word of words) {
    if (last.trim() === '$' || last.length + 1 + word.length <= room) last += ` ${word}`
    else {
      lines.push(`${last} \\`)
      last = indent + word
    }
  }
  return [...lines, last].join('\n')
}

function styled(lines: readonly string[], { color }: Look): string {
  const { title } = palette(Chalk, color)
  const text = lines.map(line => line.replace(/^(Usage:|[A-Z][^:]*:$)/, heading => title(heading)))
  return `${text.join('\n')}\n`
}
