import { structuredPatch } from 'diff'
import { api } from '../../../../src/contract/api.ts'
import type { Notice } from '../../../../src/contract/notices.ts'
import { describeChanges } from '../../../../src/domain/notice-changes.ts'
import { visible } from '../../../../src/output/safe.ts'
import { useCall } from '../call.ts'
import { options } from '../parts/command.tsx'
import { Screen, Show } from '../parts/screen.tsx'
import { Link, Text } from '../parts/text.tsx'
import { client } from '../session.ts'
import { readText } from './notice-text.tsx'

interface DifferenceProps {
  readonly site: string
  readonly version: string
  readonly older: string
}

interface Patch {
  readonly language: string
  /** The result of `diffLines`; null for PDFs. */
  readonly lines: readonly string[] | null
}

/** Shows the same as `consentctl notices diff`. */
export function NoticeDifference({ site, version, older }: DifferenceProps) {
  const found = useCall(async () => {
    const get = (each: string) => client.call(api.notices.get, { params: { id: site, version: each } })
    const [before, after] = await Promise.all([get(older), get(version)])
    const languages = [...new Set([...before.texts, ...after.texts].map(({ language }) => language))].sort()
    const patches = await Promise.all(languages.map(language => comparedIn(language, before, after)))
    const changes = describeChanges(before, after).map(line => line.replace(' ', ''))
    return { changes, patches: patches.filter(patch => patch !== null) }
  }, [])
  return (
    <Screen
      title={`Notice ${version} compared with ${older}`}
      command={['notices', 'diff', older, version, ...options({ site })]}
      links={
        <>
          <Link to={['notices', site, version]}>Notice {version}</Link> ·{' '}
          <Link to={['notices', site, older]}>Notice {older}</Link>
        </>
      }
    >
      <Show of={found}>
        {({ changes, patches }) => (
          <>
            <h2>Details</h2>
            {changes.length === 0 ? <p class="empty">The two say the same.</p> : <Lines of={changes} />}
            {patches.map(({ language, lines }) => (
              <section key={language}>
                <h2>
                  Text <Text of={language} />
                </h2>
                {lines === null ? (
                  <p class="empty">A PDF cannot be compared here: download it.</p>
                ) : (
                  <Lines of={lines} />
                )}
              </section>
            ))}
          </>
        )}
      </Show>
    </Screen>
  )
}

/** Returns null if the texts are equal. Compares a missing text as empty. */
async function comparedIn(language: string, ...notices: [before: Notice, after: Notice]): Promise<Patch | null> {
  const texts = notices.map(notice => notice.texts.find(each => each.language === language))
  if (texts[0]?.sha256 === texts[1]?.sha256) return null
  if (texts.some(text => text?.media_type === 'application/pdf')) return { language, lines: null }
  const contents = notices.map(async (notice, index) => {
    const text = texts[index]
    return text ? await readText(notice, text) : ''
  })
  const [old = '', present = ''] = await Promise.all(contents)
  return { language, lines: diffLines(old, present) }
}

/** Beyond this number of edits, which take too long to find, the whole text is shown as replaced. */
const mostEdits = 3000

/** Returns a unified diff: `@OLD → NEW` with the first line numbers of each hunk, then lines with their sign. */
function diffLines(old: string, present: string): string[] {
  const patch = structuredPatch('', '', old, present, '', '', { context: 3, maxEditLength: mostEdits })
  if (!patch) return [old, present].flatMap((text, index) => text.split('\n').map(line => `${'-+'[index]}${line}`))
  return patch.hunks.flatMap(({ oldStart, newStart, lines }) => [`@${oldStart} → ${newStart}`, ...lines])
}

const kinds: Record<string, readonly [className: string, word: string]> = {
  '+': ['good', '+ added'],
  '-': ['bad', '− removed'],
  '~': ['', '~ changed'],
  '@': ['', 'line'],
  '\\': ['', ''],
}

const mostLines = 2000

/** With a word too, for users who cannot tell the colours apart. */
function Lines({ of: lines }: { readonly of: readonly string[] }) {
  return (
    <div class="lines">
      {lines.slice(0, mostLines).map((line, index) => {
        const [name, word] = kinds[line.charAt(0)] ?? ['', '']
        const rest = line.slice(1).replace(/\r$/, '').replaceAll('\t', '    ')
        return (
          <div class={name} key={index}>
            <span>{word}</span>
            <span>{visible(rest)}</span>
          </div>
        )
      })}
      {lines.length > mostLines && <div class="hint">{lines.length - mostLines} more lines: download the texts.</div>}
    </div>
  )
}
