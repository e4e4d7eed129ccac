import type { CommandInfo } from '../describe.ts'
import { type CompletedFlag, completed, type Values, valuedNames } from './model.ts'

/** PowerShell 5 and newer. */
export function powershell(tree: CommandInfo): string {
  const [program, ...rest] = completed(tree)
  const all = [program, ...rest]
  const steps = all.flatMap(({ path, commands }) =>
    commands.map(child => `    ${quoted(`${path} ${child.name}`)} = ${quoted(child.path)}`),
  )
  const commands = all.map(({ path, commands }) =>
    entry(
      path,
      commands.map(({ name, summary }) => candidate(name, summary)),
    ),
  )
  const flags = rest.map(({ path, flags }) => entry(path, flags.flatMap(candidates)))
  const operands = rest.flatMap(({ path, operands }) =>
    operands ? [`    ${quoted(path)} = { ${action(operands)} }`] : [],
  )
  const values = [...rest.flatMap(({ path, flags }) => valueEntries(path, flags)), ...valueEntries('*', program.flags)]
  return `# PowerShell completions for consentctl. Made from its commands: see "consentctl completion --help".
Register-ArgumentCompleter -Native -CommandName consentctl -ScriptBlock {
  param($wordToComplete, $commandAst, $cursorPosition)
  $steps = @{
${steps.join('\n')}
  }
  $commands = @{
${commands.join('\n')}
  }
  $flags = @{
${flags.join('\n')}
  }
  $everywhere = ${list(program.flags.flatMap(candidates))}
  $operands = @{
${operands.join('\n')}
  }
  $values = @{
${values.join('\n')}
  }
  $valued = ${list(valuedNames(all).map(quoted))}
  $words = @($commandAst.CommandElements | Select-Object -Skip 1 | ForEach-Object { "$_" })
  if ($wordToComplete -ne '' -and $words.Count -gt 0) { $words = @($words | Select-Object -SkipLast 1) }
  $at = ''
  $previous = ''
  foreach ($word in $words) {
    $isValue = $valued -contains $previous
    $previous = if ($isValue) { '' } else { $word }
    if (-not $isValue -and $steps.ContainsKey("$at $word")) { $at = $steps["$at $word"] }
  }
  $value = $values["$at $previous"]
  if (-not $value) { $value = $values["* $previous"] }
  $found =
    if ($value) { & $value }
    elseif ($wordToComplete.StartsWith('-')) { @($flags[$at]) + $everywhere }
    elseif ($operands[$at]) { & $operands[$at] }
    else { $commands[$at] }
  $found | Where-Object { $_ -and "$($_[0])".StartsWith($wordToComplete) } | ForEach-Object {
    [System.Management.Automation.CompletionResult]::new($_[0], $_[0], 'ParameterValue', $_[1])
  }
}
`
}

function valueEntries(path: string, flags: readonly CompletedFlag[]): string[] {
  return flags.flatMap(({ names, values }) =>
    values ? names.map(name => `    ${quoted(`${path} ${name}`)} = { ${action(values)} }`) : [],
  )
}

function action(values: Values): string {
  if (values.kind === 'choices') return list(values.choices.map(choice => candidate(choice, choice)))
  if (values.kind === 'files')
    return '@(Get-ChildItem "$wordToComplete*" | ForEach-Object { , @((Resolve-Path -Relative $_), $_.Name) })'
  if (values.kind === 'none') return "@(, @('', ''))"
  return `@(consentctl completion values ${values.kind} 2> $null | ForEach-Object { , @($(if ("$_" -match ' ') { "'$_'" } else { $_ }), $_) })`
}

function candidates({ names, description }: CompletedFlag): string[] {
  return names.map(name => candidate(name, description))
}

function candidate(text: string, tip: string): string {
  return `@(${quoted(text)}, ${quoted(tip)})`
}

function entry(key: string, items: readonly string[]): string {
  return `    ${quoted(key)} = ${list(items)}`
}

/** PowerShell needs a comma before a single item. */
function list(items: readonly string[]): string {
  return items.length === 1 ? `@(, ${items[0]})` : `@(${items.join(', ')})`
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "''")}'`
}
