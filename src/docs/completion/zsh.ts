import type { CommandInfo } from '../describe.ts'
import {
  type CompletedCommand,
  completed,
  operandArms,
  quoted,
  stepArms,
  type Values,
  valueArms,
  valuedNames,
} from './model.ts'

/** zsh 5. */
export function zsh(tree: CommandInfo): string {
  const all = completed(tree)
  const [program] = all
  const arm = (patterns: string[], result: string) => `    (${patterns.join('|')}) ${result} ;;`
  const words = all.map(({ path, commands, flags }) => {
    const below = commands.map(({ name, summary }) => described(name, summary))
    return `    (${quoted(path)})
      commands=(${below.join(' ')})
      flags=(${path === '' ? '' : flagsOf(flags).join(' ')}) ;;`
  })
  return `#compdef consentctl
# zsh completions for consentctl. Made from its commands: see "consentctl completion --help".
_consentctl() {
  local at='' previous=\${words[CURRENT-1]} i
  local -a commands flags found
  if [[ $PREFIX == --*=* ]]; then
    previous=\${PREFIX%%=*}
    compset -P '*='
  fi
  for ((i = 2; i < CURRENT; i++)); do
    [[ ${quoted(` ${valuedNames(all).join(' ')} `)} == *" \${words[i-1]} "* ]] && continue
    case "$at \${words[i]}" in
${stepArms(all, arm)}
    esac
  done
  case "$at $previous" in
${valueArms(all, arm, action)}
  esac
  if [[ $PREFIX != -* ]]; then
    case $at in
${operandArms(all, arm, action)}
    esac
  fi
  case $at in
${words.join('\n')}
  esac
  flags+=(${flagsOf(program.flags).join(' ')})
  if [[ $PREFIX == -* ]]; then
    _describe -o flag flags
  else
    _describe command commands
  fi
}
if [[ $funcstack[1] == _consentctl ]]; then
  _consentctl "$@"
else
  compdef _consentctl consentctl
fi
`
}

function flagsOf(flags: CompletedCommand['flags']): string[] {
  return flags.flatMap(({ names, description }) => names.map(name => described(name, description)))
}

function described(name: string, description: string): string {
  return quoted(`${name.replaceAll(':', '\\:')}:${description.replaceAll(':', '\\:')}`)
}

function action(values: Values): string {
  if (values.kind === 'choices') return `found=(${values.choices.join(' ')}); _describe value found; return`
  if (values.kind === 'files') return '_files; return'
  if (values.kind === 'none') return 'return'
  const list = `\${(f)"$(consentctl completion values ${values.kind} 2> /dev/null)"}`
  return `found=(${list}); compadd -a found; return`
}
