import { isUtf8 } from 'node:buffer'
import { readFile } from 'node:fs/promises'
import { basename } from 'node:path'
import { canonicalLanguage } from '../../contract/languages.ts'
import {
  maxNoticeTextBytes,
  type NoticeMediaType,
  type NoticePurpose,
  type NoticeText,
} from '../../contract/notices.ts'
import { CliError, dataError, exit, usageError } from '../../errors/errors.ts'
import { sha256 } from '../../evidence/bytes.ts'
import { requireLanguage } from './versions.ts'

export interface TextFile extends NoticeText {
  readonly bytes: Buffer
}

const mediaTypes: Readonly<Record<string, NoticeMediaType>> = {
  txt: 'text/plain',
  md: 'text/markdown',
  markdown: 'text/markdown',
  html: 'text/html',
  htm: 'text/html',
  pdf: 'application/pdf',
}

/**
 * `languages` default to those in the file names, as in `policy.de.md`.
 * @throws CliError (usage) for names, `invalid_data` (exit 5) for a file that is not text
 */
export async function readTexts(paths: readonly string[], languages: readonly string[]): Promise<TextFile[]> {
  if (languages.length > 0 && languages.length !== paths.length)
    throw usageError(
      `${paths.length} files, but ${languages.length} languages`,
      'use --lang once for each --file, or not at all',
    )
  const texts: TextFile[] = []
  for (const [index, path] of paths.entries()) {
    const language = languages[index] === undefined ? languageOf(path) : requireLanguage(languages[index])
    if (texts.some(text => text.language === language)) throw usageError(`two files have the language ${language}`)
    texts.push(await readText(path, language))
  }
  return texts.sort((one, other) => (one.language < other.language ? -1 : 1))
}

function languageOf(path: string): string {
  const language = canonicalLanguage(basename(path).split('.').at(-2) ?? '')
  if (language !== null && basename(path).split('.').length > 2) return language
  throw usageError(`cannot tell the language of ${path} from its name`, 'add --lang, or name it such as policy.de.md')
}

async function readText(path: string, language: string): Promise<TextFile> {
  const media_type = mediaTypes[/\.(\w+)$/.exec(path)?.[1]?.toLowerCase() ?? '']
  if (!media_type)
    throw usageError(`cannot tell the media type of ${path} from its name`, 'use .txt, .md, .html or .pdf')
  const bytes = await readFile(path).catch((cause: NodeJS.ErrnoException) => {
    throw new CliError('io', exit.failure, `cannot read ${path}: ${cause.code}`, { cause })
  })
  if (bytes.length === 0) throw dataError(`${path} is empty`)
  if (bytes.length > maxNoticeTextBytes) throw dataError(`${path} is larger than 1 MiB`)
  if (media_type !== 'application/pdf' && !isUtf8(bytes)) throw dataError(`${path} is not UTF-8`)
  return { language, media_type, size: bytes.length, sha256: sha256(bytes).toString('hex'), bytes }
}

/** Parses `key=title` and `key@language=title`; the default is the only text's language. @throws CliError (usage) */
export function parsePurposes(
  given: readonly string[],
  givenIris: readonly string[],
  texts: readonly NoticeText[],
): NoticePurpose[] {
  const iris = new Map(givenIris.map(text => splitPair(text, '--purpose-iri')))
  const only = texts.length === 1 ? (texts[0]?.language ?? null) : null
  const purposes = given.map(text => {
    const [name, title] = splitPair(text, '--purpose')
    const [, base = '', tag = ''] = /^(.*)@([^@]*)$/s.exec(name) ?? []
    const language = canonicalLanguage(tag)
    const key = language === null ? name : base
    return { key, title, language: language ?? only, iri: iris.get(key) ?? null }
  })
  const unknown = [...iris.keys()].find(key => !purposes.some(purpose => purpose.key === key))
  if (unknown !== undefined) throw usageError(`--purpose-iri: no --purpose is named ${unknown}`)
  return purposes
}

function splitPair(text: string, flag: string): [string, string] {
  const at = text.indexOf('=')
  if (at > 0 && at < text.length - 1) return [text.slice(0, at), text.slice(at + 1)]
  throw usageError(`${flag} "${text}": use ${flag === '--purpose' ? 'marketing=Title' : 'marketing=https://…'}`)
}
