import { api } from '../../../../src/contract/api.ts'
import type { Notice, NoticeText } from '../../../../src/contract/notices.ts'
import { visible } from '../../../../src/output/safe.ts'
import { client } from '../session.ts'
import { download } from './download.ts'
import { Mistake } from './problem.tsx'
import { sha256Hex } from './sha256.ts'

/** Reads the bytes of a text. @throws Mistake if their SHA-256 is not that of the notice */
export async function readText({ site_id: id, policy_version }: Notice, text: NoticeText): Promise<Uint8Array> {
  const params = { id, version: String(policy_version), language: text.language }
  const bytes = new Uint8Array(await client.bytes(api.notices.getText, { params }))
  if ((await sha256Hex(bytes)) === text.sha256) return bytes
  throw new Mistake(`The text ${text.language} is not the one of version ${policy_version}: its SHA-256 differs.`)
}

/** Decodes UTF-8. A byte order mark stays, so that it is shown. */
export function decode(bytes: Uint8Array): string {
  return new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes)
}

/** Keeps line ends and expands tabs; escapes other characters that could deceive a reader. */
export function visibleLines(text: string): string {
  return text.replaceAll('\t', '    ').split(/\r?\n/).map(visible).join('\n')
}

const extensions: Record<string, string> = {
  'text/plain': 'txt',
  'text/markdown': 'md',
  'text/html': 'html',
  'application/pdf': 'pdf',
}

/** Saves the exact bytes, with a media type that no browser executes. */
export async function downloadText(notice: Notice, text: NoticeText): Promise<void> {
  const extension = extensions[text.media_type] ?? 'bin'
  const name = `notice-${notice.policy_version}-${text.language.replace(/[^\w-]/g, '')}.${extension}`
  download(await readText(notice, text), name, 'application/octet-stream')
}
