import { useState } from 'preact/hooks'
import { api } from '../../../../src/contract/api.ts'
import { useCall } from '../call.ts'
import { option } from '../parts/command.tsx'
import { decode, readText, visibleLines } from '../parts/notice-text.ts'
import { Mistake } from '../parts/problem.tsx'
import { Screen, Show } from '../parts/screen.tsx'
import { formatNumber, Text } from '../parts/text.tsx'
import { linkTo } from '../router.ts'
import { client } from '../session.ts'
import { Download } from './notice.tsx'

interface NoticeTextProps {
  readonly site: string
  readonly version: string
  readonly language: string
}

/** Shows HTML as its source, and no PDF. */
export function NoticeTextScreen({ site, version, language }: NoticeTextProps) {
  const found = useCall(async () => {
    const notice = await client.call(api.notices.get, { params: { id: site, version } })
    const text = notice.texts.find(each => each.language === language)
    if (!text) throw new Mistake('The notice has no such text.')
    const isShown = text.media_type !== 'application/pdf'
    return { notice, text, content: isShown ? decode(await readText(notice, text)) : null }
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
      <pre class="sheet" lang={language}>
        {visibleLines(shown)}
      </pre>
      {!isWhole && (
        <button type="button" onClick={() => setWhole(true)}>
          Show all {formatNumber(text.length)} characters
        </button>
      )}
    </>
  )
}
