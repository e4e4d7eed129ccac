import { api } from '../../../../src/contract/api.ts'
import { useCall } from '../call.ts'
import { option } from '../parts/command.tsx'
import { decode, readText, visibleLines } from '../parts/notice-text.ts'
import { Screen, Show } from '../parts/screen.tsx'
import { linkTo } from '../router.ts'
import { client } from '../session.ts'
import { Download } from './notice.tsx'

interface NoticeTextProps {
  readonly site: string
  readonly version: string
  readonly language: string
}

/** A text as text: HTML is shown as its source, a PDF not at all. */
export function NoticeTextScreen({ site, version, language }: NoticeTextProps) {
  const found = useCall(async () => {
    const notice = await client.call(api.notices.get, { params: { id: site, version } })
    const text = notice.texts.find(each => each.language === language)
    if (!text) throw new Error('it has no such text')
    const isShown = text.media_type !== 'application/pdf'
    return { notice, text, content: isShown ? visibleLines(decode(await readText(notice, text))) : null }
  }, [])
  const command = ['notices', 'show', version, ...option('site', site), ...option('lang', language)]
  return (
    <Screen title={`Text of notice ${version}`} command={command}>
      <p>
        <a href={linkTo('notices', site, version)}>Notice {version}</a>
      </p>
      <Show of={found}>
        {({ notice, text, content }) => (
          <>
            <p class="buttons">
              <span>
                In {text.language}, {text.media_type}
                {text.media_type === 'text/html' && ', shown as its source'}
              </span>
              <Download notice={notice} text={text} />
            </p>
            {content === null ? (
              <p class="empty">A PDF is not shown here: download it.</p>
            ) : (
              <pre class="sheet" lang={text.language}>
                {content}
              </pre>
            )}
          </>
        )}
      </Show>
    </Screen>
  )
}
