import { useState } from 'preact/hooks'
import { api } from '../../../../src/contract/api.ts'
import type { Notice, NoticeText } from '../../../../src/contract/notices.ts'
import { visible } from '../../../../src/output/safe.ts'
import { useCall } from '../call.ts'
import { Button } from '../parts/button.tsx'
import { options } from '../parts/command.tsx'
import { DownloadButton } from '../parts/download.tsx'
import { Mistake } from '../parts/problem.tsx'
import { Screen, Show } from '../parts/screen.tsx'
import { formatNumber, Link, Text } from '../parts/text.tsx'
import { client } from '../session.ts'

/** Reads the bytes of a text. @throws Mistake if their SHA-256 is not that of the notice */
async function readBytes({ site_id: id, policy_version }: Notice, text: NoticeText): Promise<Uint8Array> {
  const params = { id, version: String(policy_version), language: text.language }
  const bytes = new Uint8Array(await client.bytes(api.notices.getText, { params }))
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', bytes))
  const hex = Array.from(digest, byte => byte.toString(16).padStart(2, '0')).join('')
  if (hex === text.sha256) return bytes
  throw new Mistake(`The text ${text.language} is not the one of version ${policy_version}: its SHA-256 differs.`)
}

/** Keeps a byte order mark, so that it is shown. @throws Mistake like `readBytes` */
export async function readText(notice: Notice, text: NoticeText): Promise<string> {
  return new TextDecoder('utf-8', { ignoreBOM: true }).decode(await readBytes(notice, text))
}

const extensions: Record<string, string> = {
  'text/plain': 'txt',
  'text/markdown': 'md',
  'text/html': 'html',
  'application/pdf': 'pdf',
}

/** Saves the exact bytes, with a media type that no browser executes. */
export function Download({ notice, text }: { readonly notice: Notice; readonly text: NoticeText }) {
  const extension = extensions[text.media_type] ?? 'bin'
  return (
    <DownloadButton
      text="Download"
      label={`Download ${visible(text.language)}`}
      kind="small"
      name={`notice-${notice.policy_version}-${text.language.replace(/[^\w-]/g, '')}.${extension}`}
      type="application/octet-stream"
      read={() => readBytes(notice, text)}
    />
  )
}

interface NoticeTextProps {
  readonly site: string
  readonly version: string
  readonly language: string
}

/** Shows HTML as source, and no PDF. */
export function NoticeTextScreen({ site, version, language }: NoticeTextProps) {
  const found = useCall(async () => {
    const notice = await client.call(api.notices.get, { params: { id: site, version } })
    const text = notice.texts.find(each => each.language === language)
    if (!text) throw new Mistake('The notice has no such text.')
    const isShown = text.media_type !== 'application/pdf'
    return { notice, text, content: isShown ? await readText(notice, text) : null }
  }, [])
  const command = ['notices', 'show', version, ...options({ site, lang: language })]
  const back = <Link to={['notices', site, version]}>Notice {version}</Link>
  return (
    <Screen title={`Text of notice ${version}`} command={command} links={back}>
      <Show of={found}>
        {({ notice, text, content }) => (
          <>
            <p class="buttons">
              <span>
                In <Text of={text.language} />, <Text of={text.media_type} />
                {text.media_type === 'text/html' && ', shown as its source'}
              </span>
              <Download notice={notice} text={text} />
            </p>
            {content === null ? (
              <p class="empty">A PDF is not shown here: download it.</p>
            ) : (
              <Content text={content} language={text.language} />
            )}
          </>
        )}
      </Show>
    </Screen>
  )
}

/** A million characters in one line take seconds to lay out. */
const fewCharacters = 200_000

function Content({ text, language }: { readonly text: string; readonly language: string }) {
  const [isWhole, setWhole] = useState(text.length <= fewCharacters)
  const shown = isWhole ? text : text.slice(0, fewCharacters).replace(/[\ud800-\udbff]$/, '')
  return (
    <>
      <pre lang={language}>{visibleLines(shown)}</pre>
      {!isWhole && <Button text={`Show all ${formatNumber(text.length)} characters`} onClick={() => setWhole(true)} />}
    </>
  )
}

/** Keeps line ends and expands tabs; escapes other characters that could deceive a reader. */
function visibleLines(text: string): string {
  return text.replaceAll('\t', '    ').split(/\r?\n/).map(visible).join('\n')
}
