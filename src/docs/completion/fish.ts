import type { CommandInfo } from '../describe.ts'
import { type CompletedCommand, type CompletedFlag, completed, type Values, valuedNames } from './model.ts'

/** fish 3. */
export function fish(tree: CommandInfo): string {
  const all = completed(tree)
  const [program] = all
  const steps = all.flatMap(command =>
    command.commands.map(
      ({ name, path }) => `            case ${quoted(`${command.path} ${name}`)}
                set at ${quoted(path)}`,
    ),
  )
  return `# fish completions for consentctl. Made from its commands: see "consentctl completion --help".
function __consentctl_at
    set -l at ''
    set -l previous ''
    for word in (commandline -opc)[2..-1]
        if contains -- "$previous" ${valuedNames(all).join(' ')}
            set previous ''
            continue
        end
        set previous $word
        switch "$at $word"
${steps.join('\n')}
        end
    end
    test "$at" = "$argv[1]"
end
complete -c consentctl -f
${program.flags.map(flag => flagLine('', flag)).join('\n')}
${all.flatMap(linesOf(program)).join('\n')}
`
}

function linesOf(program: CompletedCommand): (command: CompletedCommand) => string[] {
  return command => {
    const here = `-n ${quoted(`__consentctl_at ${quoted(command.path)}`)} `
    const commands = command.commands.map(
      ({ name, summary }) => `complete -c consentctl ${here}-a ${name} -d ${quoted(summary)}`,
    )
    const own = command === program ? [] : command.flags
    const operands = command.operands ? [`complete -c consentctl ${here}${operandAction(command.operands)}`] : []
    return [...commands, ...operands, ...own.map(flag => flagLine(here, flag))]
  }
}

function flagLine(condition: string, { names, values, description }: CompletedFlag): string {
  const spelled = names.map(name => (name.startsWith('--') ? `-l ${name.slice(2)}` : `-s ${name.slice(1)}`))
  const value = values ? ` ${action(values)}` : ''
  return `complete -c consentctl ${condition}${spelled.join(' ')}${value} -d ${quoted(description)}`
}

function operandAction(values: Values): string {
  return values.kind === 'files' ? '-F' : action(values).replace(/^-x /, '')
}

function action(values: Values): string {
  if (values.kind === 'choices') return `-x -a ${quoted(values.choices.join(' '))}`
  if (values.kind === 'files') return '-r -F'
  if (values.kind === 'none') return '-x'
  return `-x -a '(consentctl completion values ${values.kind} 2> /dev/null)'`
}

function quoted(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`
}
