import { type CommandInfo, type FlagInfo, flatten, usageOf, valueSuffix } from './describe.ts'

/** man-pages(7) by file name: the program's and each command's. */
export function manPages(tree: CommandInfo, version: string): Record<string, string> {
  return Object.fromEntries(flatten(tree).map(command => [`${nameOf(command)}.1`, page(command, tree, version)]))
}

function page(command: CommandInfo, program: CommandInfo, version: string): string {
  const name = nameOf(command)
  const isProgram = command === program
  const about = flatten(program).filter(each => isBelow(each, command))
  const parts = [
    `.TH ${quoted(name.toUpperCase())} 1 "" ${quoted(`consentctl ${version}`)} "consentctl"`,
    `.SH NAME\n${text(`${name} - ${command.summary}`)}`,
    `.SH SYNOPSIS\n.B ${text(usageOf(command))}\n[options]`,
    section('DESCRIPTION', paragraphs(command.notes).join('\n.PP\n')),
    section('ARGUMENTS', command.arguments.map(each => entry(each.name, each.description)).join('\n')),
    section('COMMANDS', about.map(each => entry(usageOf(each), each.summary)).join('\n')),
    section('OPTIONS', command.flags.map(flagEntry).join('\n')),
    isProgram ? '' : section('GLOBAL OPTIONS', program.flags.map(flagEntry).join('\n')),
    section('EXAMPLES', command.examples.map(example => `.nf\n$ ${text(example)}\n.fi`).join('\n.PP\n')),
    isProgram ? '' : '.SH SEE ALSO\n.BR consentctl (1)',
  ]
  return `${parts.filter(part => part !== '').join('\n')}\n`
}

function isBelow(command: CommandInfo, group: CommandInfo): boolean {
  const prefix = group.path && `${group.path} `
  return command !== group && command.commands.length === 0 && command.path.startsWith(prefix)
}

function nameOf({ path }: CommandInfo): string {
  return ['consentctl', ...path.split(' ')].filter(word => word !== '').join('-')
}

/** Joins lines: the reader's width is unknown. */
function paragraphs(notes: string): string[] {
  return notes
    .split(/\n{2,}/)
    .filter(paragraph => paragraph !== '')
    .map(paragraph => text(paragraph.replace(/\n/g, ' ')))
}

function section(title: string, body: string): string {
  return body === '' ? '' : `.SH ${title}\n${body}`
}

function flagEntry({ names, value, description, choices, required }: FlagInfo): string {
  const term = `${names.join(', ')}${valueSuffix(value)}`
  const more = [required ? 'needed' : '', choices.length ? `one of ${choices.join(', ')}` : '']
  return entry(term, [description, ...more.filter(each => each !== '')].join('; '))
}

function entry(term: string, description: string): string {
  return `.TP\n.B ${text(term)}\n${text(description)}`
}

/** Escapes roff, so that no line is a request and hyphens can be copied. */
function text(plain: string): string {
  return plain
    .replace(/\\/g, '\\e')
    .replace(/-/g, '\\-')
    .replace(/^([.'])/gm, '\\&$1')
}

function quoted(argument: string): string {
  return `"${argument.replace(/"/g, '""')}"`
}
