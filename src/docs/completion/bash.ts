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

/** bash 3.2 and newer. */
export function bash(tree: CommandInfo): string {
  const all = completed(tree)
  const [program] = all
  const arm = (patterns: string[], result: string) => `      ${patterns.join('|')}) ${result} ;;`
  const words = all.map(({ path, commands, flags }) => {
    const below = commands.map(({ name }) => name).join(' ')
    return `    ${quoted(path)}) commands=${quoted(below)} flags=${quoted(path && namesOf(flags))} ;;`
  })
  return `# bash completions for consentctl. Made from its commands: see "consentctl completion --help".
_consentctl() {
  local at='' commands='' flags='' words='' i
  local current=\${COMP_WORDS[COMP_CWORD]} previous=\${COMP_WORDS[COMP_CWORD-1]}
  # To bash the sign in --output=json is a word of its own.
  if [[ $current == = ]]; then
    current=''
  elif [[ $previous == = && $COMP_CWORD -gt 2 ]]; then
    previous=\${COMP_WORDS[COMP_CWORD-2]}
  fi
  for ((i = 1; i < COMP_CWORD; i++)); do
    case " ${valuedNames(all).join(' ')} " in *" \${COMP_WORDS[i-1]} "*) continue ;; esac
    case "$at \${COMP_WORDS[i]}" in
${stepArms(all, arm)}
    esac
  done
  case "$at $previous" in
${valueArms(all, arm, action)}
  esac
  if [[ -z $words && $current != -* ]]; then
    case $at in
${operandArms(all, arm, action)}
    esac
  fi
  case $at in
${words.join('\n')}
  esac
  if [[ -z $words ]]; then
    [[ $current == -* ]] && words="$flags ${namesOf(program.flags)}" || words=$commands
    words=\${words// /$'\\n'}
  fi
  # Not compgen -W, which evaluates what stands in its words.
  COMPREPLY=()
  while IFS= read -r i; do
    [[ -n $i && $i == "$current"* ]] || continue
    [[ $i != *' '* ]] || printf -v i '%q' "$i"
    COMPREPLY+=("$i")
  done <<< "$words"
}
complete -F _consentctl consentctl
`
}

function namesOf(flags: CompletedCommand['flags']): string {
  return flags.flatMap(({ names }) => names).join(' ')
}

function action(values: Values): string {
  if (values.kind === 'choices') return `words=$'${values.choices.join('\\n')}'`
  if (values.kind === 'files') return 'compopt -o default 2> /dev/null; return'
  if (values.kind === 'none') return 'return'
  return `words=$(consentctl completion values ${values.kind} 2> /dev/null); [[ $words ]] || return`
}
