import type { CommandInfo } from '../describe.ts'
import type { ShellName } from './names.ts'
import { completionRows } from './table.ts'

const title = '# Completions for consentctl. Made from its commands: see "consentctl completion --help".'

/** For bash 3.2 and zsh 5. zsh reserves `path` and `words`. */
const walk = `
# Sets REPLY to the kind of a word after a command.
_consentctl_kind() {
  local place word kind text
  while IFS='|' read -r place word kind text; do
    if [[ $word == "$2" && ( $place == "$1" || ( -z $place && $2 == -* ) ) ]]; then
      REPLY=$kind
      return 0
    fi
  done <<< "$_consentctl_table"
  return 1
}
# Sets at to the command of the words before the cursor, and REPLY to the kind of the next word, if it is a value.
_consentctl_walk() {
  local word
  at='' REPLY=''
  for word in "$@"; do
    if [[ -n $REPLY ]]; then
      REPLY=''
    elif _consentctl_kind "$at" "$word" && [[ $REPLY == '='* ]]; then
      at=\${REPLY#'='} REPLY=''
    fi
  done
}`

const bash = (rows: readonly string[]) => `${title}
_consentctl_table='${rows.join('\n').replaceAll("'", "'\\''")}'
${walk}
_consentctl() {
  local at REPLY place word kind text lines='' current=\${COMP_WORDS[COMP_CWORD]}
  local -a before=()
  # To bash the sign in --output=json is a word of its own.
  [[ $current != = ]] || current=''
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do [[ $word == = ]] || before+=("$word"); done
  _consentctl_walk "\${before[@]}"
  [[ -n $REPLY || $current == -* ]] || _consentctl_kind "$at" '<'
  case $REPLY in
    files) compopt -o default 2> /dev/null; return ;;
    none) return ;;
    @*) lines=$(consentctl completion values "\${REPLY#@}" 2> /dev/null) ;;
    :*) lines=\${REPLY#:}; lines=\${lines// /$'\\n'} ;;
    *)
      while IFS='|' read -r place word kind text; do
        [[ $place == "$at" || ( -z $place && $word == -* ) ]] || continue
        [[ $word != '<' && ( $current == -* || $word != -* ) ]] && lines+=$word$'\\n'
      done <<< "$_consentctl_table" ;;
  esac
  # Not compgen -W, which evaluates what stands in its words.
  COMPREPLY=()
  while IFS= read -r word; do
    [[ -n $word && $word == "$current"* ]] || continue
    [[ $word != *' '* ]] || printf -v word '%q' "$word"
    COMPREPLY+=("$word")
  done <<< "$lines"
}
complete -F _consentctl consentctl
`

const zsh = (rows: readonly string[]) => `#compdef consentctl
${title}
_consentctl_table='${rows.join('\n').replaceAll("'", "'\\''")}'
${walk}
_consentctl() {
  local at REPLY place word kind text
  local -a before found
  before=("\${(@)words[2,CURRENT-1]}")
  if [[ $PREFIX == --*=* ]]; then
    before+=("\${PREFIX%%=*}")
    compset -P '*='
  fi
  _consentctl_walk "\${before[@]}"
  [[ -n $REPLY || $PREFIX == -* ]] || _consentctl_kind "$at" '<'
  case $REPLY in
    files) _files; return ;;
    none) return ;;
    @*) found=(\${(f)"$(consentctl completion values \${REPLY#@} 2> /dev/null)"}); compadd -a found; return ;;
    :*) found=(\${=REPLY#:}); _describe value found; return ;;
  esac
  while IFS='|' read -r place word kind text; do
    [[ $place == "$at" || ( -z $place && $word == -* ) ]] || continue
    [[ $word != '<' && ( $PREFIX == -* || $word != -* ) ]] && found+=("\${word//:/\\\\:}:\${text//:/\\\\:}")
  done <<< "$_consentctl_table"
  if [[ $PREFIX == -* ]]; then
    _describe -o flag found
  else
    _describe command found
  fi
}
if [[ $funcstack[1] == _consentctl ]]; then
  _consentctl "$@"
else
  compdef _consentctl consentctl
fi
`

const fish = (rows: readonly string[]) => `${title}
set -g __consentctl_table \\
${rows.map(row => `    '${row.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`).join(' \\\n')}
# Matches the rows of a command and, for a flag, of the program.
function __consentctl_rows
    set -l place (string escape --style=regex -- "$argv[1]")
    string match -q -- '-*' "$argv[2]"; and set place "(?:$place)?"
    string replace -rf -- "^$place\\\\|$argv[3]" $argv[4] $__consentctl_table
end
function __consentctl_kind
    set -l word (string escape --style=regex -- "$argv[2]")
    set -l kinds (__consentctl_rows "$argv[1]" "$argv[2]" "$word\\\\|([^|]*)\\\\|.*" '$1')
    echo "$kinds[1]"
end
function __consentctl_complete
    set -l at ''
    set -l kind ''
    set -l before (commandline -opc)[2..-1]
    set -l current (commandline -ct)
    set -l sign (string match -r -- '^--[^=]+=' "$current")
    test -n "$sign"; and set before $before (string trim -r -c = -- $sign)
    for word in $before
        if test -n "$kind"
            set kind ''
        else
            set kind (__consentctl_kind "$at" "$word")
            string match -q -- '=*' "$kind"; and set at (string sub -s 2 -- $kind); and set kind ''
        end
    end
    if test -z "$kind"; and not string match -q -- '-*' "$current"
        set kind (__consentctl_kind "$at" '<')
    end
    switch "$kind"
        case files
            __fish_complete_path (string replace -- "$sign" '' "$current") | string replace -r -- '^' "$sign"
        case none
        case '@*'
            consentctl completion values (string sub -s 2 -- $kind) 2> /dev/null | string replace -r -- '^' "$sign"
        case ':*'
            string split ' ' -- (string sub -s 2 -- $kind) | string replace -r -- '^' "$sign"
        case '*'
            set -l start (string escape --style=regex -- "$current")
            test -n "$start"; or set start '(?![-<])'
            __consentctl_rows "$at" "$current" "($start""[^|]*)\\\\|[^|]*\\\\|(.*)" '$1\\t$2'
    end
end
complete -c consentctl -f -a '(__consentctl_complete)'
`

/** PowerShell 5 and newer. */
const powershell = (rows: readonly string[]) => `${title}
Register-ArgumentCompleter -Native -CommandName consentctl -ScriptBlock {
  param($wordToComplete, $commandAst, $cursorPosition)
  $rows = @'
${rows.join('\n')}
'@ -split '\\r?\\n' | ForEach-Object { , $_.Split('|') }
  $isOf = { param($row, $at) $row[0] -ceq $at -or ($row[0] -eq '' -and $row[1].StartsWith('-')) }
  $kindOf = {
    param($at, $word)
    foreach ($row in $rows) { if ($row[1] -ceq $word -and (& $isOf $row $at)) { return $row[2] } }
  }
  $words = @($commandAst.CommandElements | Select-Object -Skip 1 | ForEach-Object { "$_" })
  if ($wordToComplete -ne '' -and $words.Count -gt 0) { $words = @($words | Select-Object -SkipLast 1) }
  $at = ''
  $kind = ''
  foreach ($word in $words) {
    if ($kind) { $kind = ''; continue }
    $kind = "$(& $kindOf $at $word)"
    if ($kind.StartsWith('=')) { $at = $kind.Substring(1); $kind = '' }
  }
  $isFlag = $wordToComplete.StartsWith('-')
  if (-not $kind -and -not $isFlag) { $kind = "$(& $kindOf $at '<')" }
  $found = switch -Regex ($kind) {
    '^files$' { Get-ChildItem "$wordToComplete*" | ForEach-Object { , @((Resolve-Path -Relative $_), $_.Name) }; break }
    '^none$' { , @('', ''); break }
    '^@' {
      consentctl completion values $kind.Substring(1) 2> $null |
        ForEach-Object { , @($(if ("$_" -match ' ') { "'$_'" } else { "$_" }), "$_") }
      break
    }
    '^:' { $kind.Substring(1).Split(' ') | ForEach-Object { , @($_, $_) }; break }
    default {
      $rows | Where-Object { $_[1] -ne '<' -and (& $isOf $_ $at) -and ($isFlag -or -not $_[1].StartsWith('-')) } |
        ForEach-Object { , @($_[1], $_[3]) }
    }
  }
  $found | Where-Object { $_ -and "$($_[0])".StartsWith($wordToComplete) } | ForEach-Object {
    [System.Management.Automation.CompletionResult]::new($_[0], $_[0], 'ParameterValue', $_[1])
  }
}
`

/** By shell; the file is under completions/. */
const generators: Record<ShellName, readonly [file: string, generate: (rows: readonly string[]) => string]> = {
  bash: ['consentctl.bash', bash],
  zsh: ['_consentctl', zsh],
  fish: ['consentctl.fish', fish],
  powershell: ['consentctl.ps1', powershell],
}

export function completionFile(shell: ShellName, tree: CommandInfo): readonly [file: string, text: string] {
  const [file, generate] = generators[shell]
  return [file, generate(completionRows(tree))]
}
