import { readFileSync } from 'node:fs'
import type * as z from 'zod'
import { type CliError, settingsError } from '../errors/errors.ts'

/**
 * A JSON file by its schema; `none` where there is no file, and the schema is then not even made. Throws a CliError that
 * never quotes the file.
 */
export function readJsonFile<T>(file: string, schemaOf: () => z.ZodType<T>, none: T): T {
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return none
    throw settingsError(`${file} cannot be read: ${(error as Error).message}`)
  }
  const parsed = schemaOf().safeParse(parseJson(file, text.replace(/^\uFEFF/, '')))
  if (parsed.success) return parsed.data
  const issue = parsed.error.issues[0]
  throw unusable(`${file}: ${issue?.path.join('.')}: ${issue?.message}`)
}

function parseJson(file: string, text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    const line = text.slice(0, positionOf((error as Error).message, text)).split('\n').length
    throw unusable(`${file}, line ${line}: not valid JSON`)
  }
}

function unusable(message: string): CliError {
  return settingsError(message, 'mend the file, or move it away')
}

/** Where V8 says that JSON ends to be valid: by its position, by the text around it, or at the end. */
function positionOf(message: string, text: string): number {
  const position = /position (\d+)/.exec(message)?.[1]
  if (position !== undefined) return Number(position)
  const [, dots, around = ''] = /, (\.\.\.)?"(.*?)"(?:\.\.\.)? is not valid JSON$/s.exec(message) ?? []
  const start = text.indexOf(around)
  if (around === '' || start === -1) return text.length
  return start + (dots ? 10 : Math.max(0, around.indexOf(/token '(.)'/su.exec(message)?.[1] ?? '')))
}
